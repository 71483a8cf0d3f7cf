// Matrix products too small for a library call to pay.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

constexpr int kLanes = 16;

inline __attribute__((always_inline)) float SumLanes(const float* lanes) {
  float sum = 0;
  for (int l = 0; l < kLanes; ++l) sum += lanes[l];
  return sum;
}

// Dot products of one row of A with four rows of B at a time, B being k
// contiguous: each element of A is loaded once for the four.
void DotRow(const SmallGemm& g, const float* a, float* c) {
  int64_t j = 0;
  for (; j + 4 <= g.n; j += 4) {
    const float* b0 = g.b + j * g.b_column;
    const float* b1 = b0 + g.b_column;
    const float* b2 = b1 + g.b_column;
    const float* b3 = b2 + g.b_column;
    float s0[kLanes] = {}, s1[kLanes] = {}, s2[kLanes] = {}, s3[kLanes] = {};
    int64_t k = 0;
    for (; k + kLanes <= g.k; k += kLanes) {
      for (int l = 0; l < kLanes; ++l) s0[l] += a[k + l] * b0[k + l];
      for (int l = 0; l < kLanes; ++l) s1[l] += a[k + l] * b1[k + l];
      for (int l = 0; l < kLanes; ++l) s2[l] += a[k + l] * b2[k + l];
      for (int l = 0; l < kLanes; ++l) s3[l] += a[k + l] * b3[k + l];
    }
    float t0 = SumLanes(s0), t1 = SumLanes(s1), t2 = SumLanes(s2),
          t3 = SumLanes(s3);
    for (; k < g.k; ++k) {
      t0 += a[k] * b0[k];
      t1 += a[k] * b1[k];
      t2 += a[k] * b2[k];
      t3 += a[k] * b3[k];
    }
    c[j] = g.alpha * t0;
    c[j + 1] = g.alpha * t1;
    c[j + 2] = g.alpha * t2;
    c[j + 3] = g.alpha * t3;
  }
  for (; j < g.n; ++j) {
    const float* b = g.b + j * g.b_column;
    float s[kLanes] = {};
    int64_t k = 0;
    for (; k + kLanes <= g.k; k += kLanes) {
      for (int l = 0; l < kLanes; ++l) s[l] += a[k + l] * b[k + l];
    }
    float t = SumLanes(s);
    for (; k < g.k; ++k) t += a[k] * b[k];
    c[j] = g.alpha * t;
  }
}

// One row of C as a sum of rows of B, B being n contiguous. A block of
// columns stays in registers over the whole of k.
void SumRows(const SmallGemm& g, const float* a, float* c) {
  constexpr int kBlock = 64;
  int64_t j = 0;
  for (; j + kBlock <= g.n; j += kBlock) {
    float sum[kBlock] = {};
    const float* b = g.b + j;
    for (int64_t k = 0; k < g.k; ++k, b += g.b_row) {
      const float f = a[k];
      for (int l = 0; l < kBlock; ++l) sum[l] += f * b[l];
    }
    for (int l = 0; l < kBlock; ++l) c[j + l] = g.alpha * sum[l];
  }
  for (; j + kLanes <= g.n; j += kLanes) {
    float sum[kLanes] = {};
    const float* b = g.b + j;
    for (int64_t k = 0; k < g.k; ++k, b += g.b_row) {
      const float f = a[k];
      for (int l = 0; l < kLanes; ++l) sum[l] += f * b[l];
    }
    for (int l = 0; l < kLanes; ++l) c[j + l] = g.alpha * sum[l];
  }
  if (j == g.n) return;
  const int64_t rest = g.n - j;
  float sum[kLanes] = {};
  const float* b = g.b + j;
  for (int64_t k = 0; k < g.k; ++k, b += g.b_row) {
    const float f = a[k];
    for (int64_t l = 0; l < rest; ++l) sum[l] += f * b[l];
  }
  for (int64_t l = 0; l < rest; ++l) c[j + l] = g.alpha * sum[l];
}

}  // namespace

void MultiplySmall(const SmallGemm& g) {
  const bool is_dot = g.b_column != 1 && g.b_row == 1;
  for (int64_t i = 0; i < g.m; ++i) {
    const float* a = g.a + i * g.a_row;
    float* c = g.c + i * g.c_row;
    if (is_dot) {
      DotRow(g, a, c);
    } else {
      SumRows(g, a, c);
    }
    if (g.bias == nullptr) continue;
    for (int64_t j = 0; j < g.n; ++j) c[j] += g.bias[j];
  }
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
