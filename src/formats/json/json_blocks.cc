#include "formats/json/json_blocks.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tenon {
namespace {

#ifdef __x86_64__

// Rare: Python writes a document in one line.
void AddOtherSpaces(const char* text, JsonBlock* out) {
  for (uint64_t rest = out->controls; rest != 0; rest &= rest - 1) {
    const int i = __builtin_ctzll(rest);
    const char c = text[i];
    if (c == '\t' || c == '\n' || c == '\r') out->spaces |= uint64_t{1} << i;
  }
}

void ClassifySse2(const char* text, JsonBlock* out) {
  const auto equal = [](__m128i v, char c) {
    return _mm_cmpeq_epi8(v, _mm_set1_epi8(c));
  };
  JsonBlock block;
  for (int part = 0; part < 4; ++part) {
    const auto put = [part](uint64_t* bits, __m128i mask) {
      *bits |= static_cast<uint64_t>(_mm_movemask_epi8(mask)) << (16 * part);
    };
    const __m128i v =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(text) + part);
    // '[' and '{' differ in one bit, so do ']' and '}'.
    const __m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));
    put(&block.quotes, equal(v, '"'));
    put(&block.backslashes, equal(v, '\\'));
    put(&block.operators,
        _mm_or_si128(_mm_or_si128(equal(folded, '{'), equal(folded, '}')),
                     _mm_or_si128(equal(v, ':'), equal(v, ','))));
    put(&block.spaces, equal(v, ' '));
    put(&block.controls,
        _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v));
    put(&block.wide, v);
  }
  *out = block;
  AddOtherSpaces(text, out);
}

[[gnu::target("avx2")]] inline __m256i Equal(__m256i v, char c) {
  return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

[[gnu::target("avx2")]] inline uint64_t Bits(__m256i low, __m256i high) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<uint64_t>(
             static_cast<uint32_t>(_mm256_movemask_epi8(high)))
             << 32;
}

[[gnu::target("avx2")]] inline __m256i Operators(__m256i v) {
  const __m256i folded = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
  return _mm256_or_si256(
      _mm256_or_si256(Equal(folded, '{'), Equal(folded, '}')),
      _mm256_or_si256(Equal(v, ':'), Equal(v, ',')));
}

[[gnu::target("avx2")]] inline __m256i Controls(__m256i v) {
  return _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v);
}

[[gnu::target("avx2")]] void ClassifyAvx2(const char* text, JsonBlock* out) {
  const auto* bytes = reinterpret_cast<const __m256i*>(text);
  const __m256i a = _mm256_loadu_si256(bytes);
  const __m256i b = _mm256_loadu_si256(bytes + 1);
  out->quotes = Bits(Equal(a, '"'), Equal(b, '"'));
  out->backslashes = Bits(Equal(a, '\\'), Equal(b, '\\'));
  out->operators = Bits(Operators(a), Operators(b));
  out->spaces = Bits(Equal(a, ' '), Equal(b, ' '));
  out->controls = Bits(Controls(a), Controls(b));
  out->wide = Bits(a, b);
  AddOtherSpaces(text, out);
}

#else

void ClassifyBytes(const char* text, JsonBlock* out) {
  *out = JsonBlock();
  for (size_t i = 0; i < kJsonBlockBytes; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"') out->quotes |= bit;
    if (c == '\\') out->backslashes |= bit;
    if (c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',') {
      out->operators |= bit;
    }
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') out->spaces |= bit;
    if (byte < 0x20) out->controls |= bit;
    if (byte >= 0x80) out->wide |= bit;
  }
}

#endif

}  // namespace

JsonClassifier FindJsonClassifier() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0 ? ClassifyAvx2 : ClassifySse2;
#else
  return ClassifyBytes;
#endif
}

}  // namespace tenon
