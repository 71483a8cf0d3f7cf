// Vectors as wide as the registers of the instruction set, for the loops that
// don't leave it to the compiler.
//
// Included only by files that are compiled per instruction set.
#pragma once

#include <cstdint>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace tenon::cpu {
namespace TENON_CPU_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef int32_t IntVector
    __attribute__((vector_size(kLanes * sizeof(int32_t))));
#if defined(__AVX512F__)
typedef float HalfVector
    __attribute__((vector_size(kLanes / 2 * sizeof(float))));
#endif
typedef float Quad __attribute__((vector_size(4 * sizeof(float))));

template <typename V>
inline __attribute__((always_inline)) V Load(const float* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof(V));
  return v;
}
template <typename V>
inline __attribute__((always_inline)) void Store(float* p, V v) {
  __builtin_memcpy(p, &v, sizeof(V));
}

// The first `count` lanes, fewer than all; the others of a loaded vector are 0.
template <typename V>
inline __attribute__((always_inline)) V LoadFirst(const float* p,
                                                  int64_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    return V(
        _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), p));
  } else {
    return V(
        _mm256_maskz_loadu_ps(static_cast<__mmask8>((1u << count) - 1), p));
  }
#else
  V v = {};
  for (int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
#endif
}
template <typename V>
inline __attribute__((always_inline)) void StoreFirst(float* p, V v,
                                                      int64_t count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << count) - 1),
                          __m512(v));
  } else {
    _mm256_mask_storeu_ps(p, static_cast<__mmask8>((1u << count) - 1),
                          __m256(v));
  }
#else
  for (int64_t i = 0; i < count; ++i) p[i] = v[i];
#endif
}

// The four quads of lanes, or fewer, joined to one.
template <typename Op>
inline __attribute__((always_inline)) Quad Fold(const Vector& v,
                                                [[maybe_unused]] Op join) {
#if defined(__AVX512F__)
  return join(join(__builtin_shufflevector(v, v, 0, 1, 2, 3),
                   __builtin_shufflevector(v, v, 4, 5, 6, 7)),
              join(__builtin_shufflevector(v, v, 8, 9, 10, 11),
                   __builtin_shufflevector(v, v, 12, 13, 14, 15)));
#elif defined(__AVX2__)
  return join(__builtin_shufflevector(v, v, 0, 1, 2, 3),
              __builtin_shufflevector(v, v, 4, 5, 6, 7));
#else
  return v;
#endif
}

// The same for quads.
inline __attribute__((always_inline)) void Transpose4(Quad (&rows)[4]) {
  const Quad a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Quad b = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Quad c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Quad d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

// Transposes quad by quad: element j of quad q of rows[i] becomes element i of
// quad q of rows[j].
inline __attribute__((always_inline)) void TransposeQuads(Vector (&rows)[4]) {
#if defined(__AVX512F__)
#define TENON_IN_QUADS(a, b, i, j, k, l)                                       \
  __builtin_shufflevector(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4, i + 8, \
                          j + 8, k + 8, l + 8, i + 12, j + 12, k + 12, l + 12)
#elif defined(__AVX2__)
#define TENON_IN_QUADS(a, b, i, j, k, l) \
  __builtin_shufflevector(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4)
#else
#define TENON_IN_QUADS(a, b, i, j, k, l) \
  __builtin_shufflevector(a, b, i, j, k, l)
#endif
  constexpr int n = kLanes;
  const Vector a = TENON_IN_QUADS(rows[0], rows[1], 0, n, 1, n + 1);
  const Vector b = TENON_IN_QUADS(rows[0], rows[1], 2, n + 2, 3, n + 3);
  const Vector c = TENON_IN_QUADS(rows[2], rows[3], 0, n, 1, n + 1);
  const Vector d = TENON_IN_QUADS(rows[2], rows[3], 2, n + 2, 3, n + 3);
  rows[0] = TENON_IN_QUADS(a, c, 0, 1, n, n + 1);
  rows[1] = TENON_IN_QUADS(a, c, 2, 3, n + 2, n + 3);
  rows[2] = TENON_IN_QUADS(b, d, 0, 1, n, n + 1);
  rows[3] = TENON_IN_QUADS(b, d, 2, 3, n + 2, n + 3);
#undef TENON_IN_QUADS
}

// rows[i][j] becomes rows[j][i].
inline __attribute__((always_inline)) void Transpose(Vector (&rows)[kLanes]) {
  constexpr int kQuads = kLanes / 4;
  // Element q of quad l of row i goes to quad l of parts[q][i / 4] ...
  Vector parts[4][kQuads];
#pragma GCC unroll 4
  for (int g = 0; g < kQuads; ++g) {
    Vector four[4] = {rows[4 * g], rows[4 * g + 1], rows[4 * g + 2],
                      rows[4 * g + 3]};
    TransposeQuads(four);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) parts[q][g] = four[q];
  }
  // ... and from there to row 4 * l + q.
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    const auto& x = parts[q];
#if defined(__AVX512F__)
#define TENON_QUADS(a, b, i, j, k, l)                                     \
  __builtin_shufflevector(a, b, i, i + 1, i + 2, i + 3, j, j + 1, j + 2,  \
                          j + 3, k, k + 1, k + 2, k + 3, l, l + 1, l + 2, \
                          l + 3)
    const Vector a = TENON_QUADS(x[0], x[1], 0, 16, 4, 20);
    const Vector b = TENON_QUADS(x[0], x[1], 8, 24, 12, 28);
    const Vector c = TENON_QUADS(x[2], x[3], 0, 16, 4, 20);
    const Vector d = TENON_QUADS(x[2], x[3], 8, 24, 12, 28);
    rows[q] = TENON_QUADS(a, c, 0, 4, 16, 20);
    rows[q + 4] = TENON_QUADS(a, c, 8, 12, 24, 28);
    rows[q + 8] = TENON_QUADS(b, d, 0, 4, 16, 20);
    rows[q + 12] = TENON_QUADS(b, d, 8, 12, 24, 28);
#undef TENON_QUADS
#elif defined(__AVX2__)
    rows[q] = __builtin_shufflevector(x[0], x[1], 0, 1, 2, 3, 8, 9, 10, 11);
    rows[q + 4] =
        __builtin_shufflevector(x[0], x[1], 4, 5, 6, 7, 12, 13, 14, 15);
#else
    rows[q] = x[0];
#endif
  }
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
