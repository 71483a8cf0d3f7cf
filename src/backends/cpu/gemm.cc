#include "backends/cpu/gemm.h"

#include <dnnl.h>

#include <algorithm>

namespace tenon::cpu {
namespace {

// Below this many multiplications, or with this few rows, packing costs more
// than it saves.
constexpr int64_t kSmallProduct = 48 * 48 * 48;
constexpr int64_t kFewRows = 4;

bool IsSmall(const SmallGemm& g) {
  return g.m < kFewRows || g.n == 1 || g.m * g.n * g.k < kSmallProduct;
}

}  // namespace

void Multiply(const SmallGemm& g) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0 || IsSmall(g)) {
    BestLoops().small_gemm(g);
    return;
  }
  float beta = 0;
  if (g.bias != nullptr) {
    beta = 1;
    for (int64_t i = 0; i < g.m; ++i) {
      std::copy_n(g.bias, g.n, g.c + i * g.c_row);
    }
  }
  const bool is_transposed = g.b_column != 1;
  dnnl_sgemm('N', is_transposed ? 'T' : 'N', g.m, g.n, g.k, g.alpha, g.a,
             std::max(g.a_row, g.k), g.b,
             is_transposed ? std::max(g.b_column, g.k) : std::max(g.b_row, g.n),
             beta, g.c, g.c_row);
}

bool MatmulStep::Run(Frame& frame) {
  const float* a = frame.at<float>(shape_.a);
  const float* b = frame.at<float>(shape_.b);
  float* c = frame.at<float>(shape_.c);
  SmallGemm g;
  g.m = shape_.m;
  g.n = shape_.n;
  g.k = shape_.k;
  g.a_row = shape_.a_row;
  g.b_row = shape_.b_row;
  g.b_column = shape_.b_column;
  g.c_row = shape_.n;
  if (shape_.has_bias) g.bias = frame.at<float>(shape_.bias);
  for (size_t i = 0; i < shape_.c_offsets.size(); ++i) {
    g.a = a + shape_.a_offsets[i];
    g.b = b + shape_.b_offsets[i];
    g.c = c + shape_.c_offsets[i];
    Multiply(g);
  }
  return true;
}

}  // namespace tenon::cpu
