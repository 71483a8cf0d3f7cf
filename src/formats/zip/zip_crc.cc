// Sixteen bytes a step where the processor multiplies without carries, after
// Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction": a message is folded onto a later part of itself by multiplying
// it with x^n mod P, until 16 bytes are left; those are reduced by Barrett's
// method. zlib does the rest, and all of it elsewhere.
#include "formats/zip/zip_crc.h"

#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tenon {
namespace {

uint32_t PlainCrc(const std::byte* bytes, size_t size, uint32_t crc) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes), size));
}

#ifdef __x86_64__

constexpr size_t kStepBytes = 64;

// x^n mod P for the distances that parts are folded over, bit-reflected.
constexpr int64_t kFold4[] = {0x0154442bd4, 0x01c6e41596};
constexpr int64_t kFold1[] = {0x01751997d0, 0x00ccaa009e};
constexpr int64_t kFold64 = 0x0163cd6124;
constexpr int64_t kPolynomial = 0x01db710641;
constexpr int64_t kBarrett = 0x01f7011641;

[[gnu::target("pclmul,sse4.1")]] inline __m128i Fold(__m128i value,
                                                     __m128i distance,
                                                     __m128i onto) {
  const __m128i low = _mm_clmulepi64_si128(value, distance, 0x00);
  const __m128i high = _mm_clmulepi64_si128(value, distance, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i Load(const std::byte* bytes,
                                                     int i) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
}

// `size` is a multiple of 16, and at least kStepBytes.
[[gnu::target("pclmul,sse4.1")]] uint32_t FoldedCrc(const std::byte* bytes,
                                                    size_t size, uint32_t crc) {
  __m128i part[4];
  for (int i = 0; i < 4; ++i) part[i] = Load(bytes, i);
  part[0] = _mm_xor_si128(part[0], _mm_cvtsi32_si128(static_cast<int>(~crc)));
  bytes += kStepBytes;
  size -= kStepBytes;

  const __m128i by4 = _mm_set_epi64x(kFold4[1], kFold4[0]);
  for (; size >= kStepBytes; size -= kStepBytes, bytes += kStepBytes) {
    for (int i = 0; i < 4; ++i) {
      part[i] = Fold(part[i], by4, Load(bytes, i));
    }
  }
  const __m128i by1 = _mm_set_epi64x(kFold1[1], kFold1[0]);
  __m128i sum = part[0];
  for (int i = 1; i < 4; ++i) sum = Fold(sum, by1, part[i]);
  for (; size >= 16; size -= 16, bytes += 16) {
    sum = Fold(sum, by1, Load(bytes, 0));
  }

  // 128 bits to 64, to 32.
  const __m128i low32 = _mm_setr_epi32(-1, 0, -1, 0);
  __m128i folded = _mm_clmulepi64_si128(sum, by1, 0x10);
  sum = _mm_xor_si128(_mm_srli_si128(sum, 8), folded);
  folded = _mm_srli_si128(sum, 4);
  sum = _mm_clmulepi64_si128(_mm_and_si128(sum, low32),
                             _mm_set_epi64x(0, kFold64), 0x00);
  sum = _mm_xor_si128(sum, folded);
  const __m128i reduce = _mm_set_epi64x(kBarrett, kPolynomial);
  folded = _mm_clmulepi64_si128(_mm_and_si128(sum, low32), reduce, 0x10);
  folded = _mm_clmulepi64_si128(_mm_and_si128(folded, low32), reduce, 0x00);
  sum = _mm_xor_si128(sum, folded);
  return ~static_cast<uint32_t>(_mm_extract_epi32(sum, 1));
}

bool CanFold() {
  return __builtin_cpu_supports("pclmul") != 0 &&
         __builtin_cpu_supports("sse4.1") != 0;
}

#endif

}  // namespace

uint32_t ZipCrc(Bytes bytes, uint32_t crc) {
  size_t done = 0;
#ifdef __x86_64__
  static const bool can_fold = CanFold();
  if (can_fold && bytes.size() >= kStepBytes) {
    done = bytes.size() / 16 * 16;
    crc = FoldedCrc(bytes.data(), done, crc);
  }
#endif
  return PlainCrc(bytes.data() + done, bytes.size() - done, crc);
}

}  // namespace tenon
