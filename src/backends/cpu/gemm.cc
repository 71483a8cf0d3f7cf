#include "backends/cpu/gemm.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

// Without pointers.
GemmArgs ProductOf(const MatmulShape& shape) {
  GemmArgs g;
  g.m = shape.m;
  g.n = shape.n;
  g.k = shape.k;
  g.a_row = shape.a_row;
  g.b_row = shape.b_row;
  g.b_column = shape.b_column;
  g.c_row = shape.n;
  return g;
}

}  // namespace

void Multiply(const GemmArgs& g, float* scratch) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k > 0) return BestLoops().gemm(g, scratch);
  for (int64_t i = 0; i < g.m; ++i) {
    float* row = g.c + i * g.c_row;
    if (g.bias != nullptr) {
      std::copy_n(g.bias, g.n, row);
    } else {
      std::fill_n(row, g.n, 0.0f);
    }
  }
}

int64_t ScratchBytesFor(const GemmArgs& g) {
  if (g.m == 0 || g.n == 0 || g.k == 0) return 0;
  return BestLoops().gemm_scratch_bytes(g);
}

int64_t MatmulStep::ScratchBytes(const MatmulShape& shape) {
  return ScratchBytesFor(ProductOf(shape));
}

bool MatmulStep::Run(Frame& frame) {
  const float* a = frame.at<float>(shape_.a);
  const float* b = frame.at<float>(shape_.b);
  float* c = frame.at<float>(shape_.c);
  float* scratch = frame.at<float>(scratch_);
  GemmArgs g = ProductOf(shape_);
  if (shape_.has_bias) g.bias = frame.at<float>(shape_.bias);
  for (size_t i = 0; i < shape_.c_offsets.size(); ++i) {
    g.a = a + shape_.a_offsets[i];
    g.b = b + shape_.b_offsets[i];
    g.c = c + shape_.c_offsets[i];
    Multiply(g, scratch);
  }
  return true;
}

}  // namespace tenon::cpu
