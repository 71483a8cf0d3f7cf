// Vectors as wide as the registers of the instruction set, for the loops that
// don't leave it to the compiler.
//
// Included only by files that are compiled per instruction set.
#pragma once

#include <cstdint>

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

// rows[i][j] becomes rows[j][i].
inline __attribute__((always_inline)) void Transpose(Quad (&rows)[4]) {
  const Quad a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Quad b = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Quad c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Quad d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
