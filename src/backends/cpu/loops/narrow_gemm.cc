// Products with a matrix that is stored narrower than float32: its columns are
// widened in registers as they are read, so that memory delivers only what is
// stored. For more than a few rows, blocks of it are widened into float32.
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/narrow_math.h"
#include "backends/cpu/loops/vectors.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

typedef uint32_t BitsVector
    __attribute__((vector_size(kLanes * sizeof(uint32_t))));
typedef uint16_t ShortVector
    __attribute__((vector_size(kLanes * sizeof(uint16_t))));
#if !defined(__AVX2__)
typedef int8_t SignedBytes __attribute__((vector_size(kLanes)));
typedef uint8_t UnsignedBytes __attribute__((vector_size(kLanes)));
#endif

template <typename V, typename T>
inline __attribute__((always_inline)) V LoadAny(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}

inline __attribute__((always_inline)) Vector WidenVector(
    const BFloat16Bits* p) {
  const auto wide =
      __builtin_convertvector(LoadAny<ShortVector>(p), BitsVector);
  return __builtin_bit_cast(Vector, wide << 16);
}

inline __attribute__((always_inline)) Vector WidenVector(const Float16Bits* p) {
#if defined(__AVX512F__)
  return __builtin_bit_cast(Vector, _mm512_cvtph_ps(LoadAny<__m256i>(p)));
#else
  const auto bits =
      __builtin_convertvector(LoadAny<ShortVector>(p), BitsVector);
  const BitsVector magnitude = (bits & 0x7fffu) << 13;
  const auto finite = __builtin_bit_cast(
      BitsVector, __builtin_bit_cast(Vector, magnitude) * 0x1p112f);
  const BitsVector special = magnitude | 0x7f800000u;
  const BitsVector wide =
      magnitude >= BitsVector{} + (0x7c00u << 13) ? special : finite;
  return __builtin_bit_cast(Vector, wide | (bits & 0x8000u) << 16);
#endif
}

// GCC 12 converts bytes one by one unless told how.
inline __attribute__((always_inline)) Vector WidenVector(const int8_t* p) {
#if defined(__AVX512F__)
  return __builtin_bit_cast(
      Vector, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(LoadAny<__m128i>(p))));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_cvtsi64_si128(LoadAny<int64_t>(p));
  return __builtin_bit_cast(Vector,
                            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
#else
  return __builtin_convertvector(
      __builtin_convertvector(LoadAny<SignedBytes>(p), IntVector), Vector);
#endif
}

inline __attribute__((always_inline)) Vector WidenVector(const uint8_t* p) {
#if defined(__AVX512F__)
  return __builtin_bit_cast(
      Vector, _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(LoadAny<__m128i>(p))));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_cvtsi64_si128(LoadAny<int64_t>(p));
  return __builtin_bit_cast(Vector,
                            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)));
#else
  return __builtin_convertvector(
      __builtin_convertvector(LoadAny<UnsignedBytes>(p), IntVector), Vector);
#endif
}

inline __attribute__((always_inline)) float WidenOne(BFloat16Bits x) {
  return Widen(x);
}
inline __attribute__((always_inline)) float WidenOne(Float16Bits x) {
  return Widen(x);
}
inline __attribute__((always_inline)) float WidenOne(int8_t x) {
  return static_cast<float>(x);
}
inline __attribute__((always_inline)) float WidenOne(uint8_t x) {
  return static_cast<float>(x);
}

template <typename T, int kTileRows>
void DotLine(const NarrowGemmArgs& g, int64_t i, int64_t j) {
  // Sums per row, so that no addition waits for the one before.
  constexpr int kChains = kTileRows < 3 ? 4 : 2;
  const float* a = g.a + i * g.a_row;
  const T* b = static_cast<const T*>(g.b) + j * g.b_column;
  const float zero = g.zero == nullptr ? 0.0f : g.zero[j];
  Vector sums[kTileRows][kChains] = {};
  int64_t p = 0;
  for (; p + kChains * kLanes <= g.k; p += kChains * kLanes) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      const Vector column = WidenVector(b + p + c * kLanes) - zero;
#pragma GCC unroll 4
      for (int r = 0; r < kTileRows; ++r) {
        sums[r][c] += Load<Vector>(a + r * g.a_row + p + c * kLanes) * column;
      }
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    Vector all = sums[r][0];
    for (int c = 1; c < kChains; ++c) all += sums[r][c];
    const Quad folded =
        Fold(all, [](Quad left, Quad right) { return left + right; });
    float total = (folded[0] + folded[1]) + (folded[2] + folded[3]);
    const float* x = a + r * g.a_row;
    for (int64_t q = p; q < g.k; ++q) total += x[q] * (WidenOne(b[q]) - zero);
    if (g.scale != nullptr) total *= g.scale[j];
    g.c[(i + r) * g.c_row + j] = g.bias == nullptr ? total : total + g.bias[j];
  }
}

template <typename T>
void MultiplyLines(const NarrowGemmArgs& g) {
  for (int64_t j = 0; j < g.n; ++j) {
    int64_t i = 0;
    for (; i + 4 <= g.m; i += 4) DotLine<T, 4>(g, i, j);
    switch (g.m - i) {
      case 1:
        DotLine<T, 1>(g, i, j);
        break;
      case 2:
        DotLine<T, 2>(g, i, j);
        break;
      case 3:
        DotLine<T, 3>(g, i, j);
        break;
      default:
        break;
    }
  }
}

// x = (x - zero) * scale with one of each, or one per position.
inline __attribute__((always_inline)) void ScaleRow(float* x, int64_t size,
                                                    float scale, float zero) {
  for (int64_t i = 0; i < size; ++i) x[i] = (x[i] - zero) * scale;
}

inline __attribute__((always_inline)) void ScaleRow(float* x, int64_t size,
                                                    const float* scale,
                                                    const float* zero) {
  if (zero != nullptr) {
    for (int64_t i = 0; i < size; ++i) x[i] -= zero[i];
  }
  if (scale != nullptr) {
    for (int64_t i = 0; i < size; ++i) x[i] *= scale[i];
  }
}

template <typename T>
void WidenRows(const WidenArgs& w) {
  for (int64_t r = 0; r < w.rows; ++r) {
    const T* from = static_cast<const T*>(w.from) + r * w.from_step;
    float* to = w.out + r * w.size;
    int64_t i = 0;
    for (; i + kLanes <= w.size; i += kLanes) {
      Store(to + i, WidenVector(from + i));
    }
    for (; i < w.size; ++i) to[i] = WidenOne(from[i]);
    if (w.scale == nullptr && w.zero == nullptr) continue;
    if (!w.is_per_row) {
      ScaleRow(to, w.size, w.scale, w.zero);
      continue;
    }
    const int64_t groups = w.size / w.group;
    for (int64_t g = 0; g < groups; ++g) {
      ScaleRow(to + g * w.group, w.group,
               w.scale == nullptr ? 1.0f : w.scale[r * groups + g],
               w.zero == nullptr ? 0.0f : w.zero[r * groups + g]);
    }
  }
}

}  // namespace

void MultiplyNarrow(const NarrowGemmArgs& g) {
  switch (g.type) {
    case DType::kBFloat16:
      return MultiplyLines<BFloat16Bits>(g);
    case DType::kFloat16:
      return MultiplyLines<Float16Bits>(g);
    case DType::kInt8:
      return MultiplyLines<int8_t>(g);
    default:
      return MultiplyLines<uint8_t>(g);
  }
}

void WidenBlock(const WidenArgs& w) {
  switch (w.type) {
    case DType::kBFloat16:
      return WidenRows<BFloat16Bits>(w);
    case DType::kFloat16:
      return WidenRows<Float16Bits>(w);
    case DType::kInt8:
      return WidenRows<int8_t>(w);
    default:
      return WidenRows<uint8_t>(w);
  }
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
