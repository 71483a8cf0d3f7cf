#include "backends/cpu/gemm.h"

#include <omp.h>

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

namespace {

// Columns are shared out among threads where a product reads a large matrix for
// few rows; oneDNN does that for others.
void MultiplyShared(const GemmArgs& g, float* scratch) {
  constexpr int64_t kFewRows = 4;
  constexpr int64_t kLargeElements = int64_t{1} << 18;
  const int threads = omp_get_max_threads();
  if (threads == 1 || g.m >= kFewRows || g.b_row != 1 ||
      g.n * g.k < kLargeElements || ScratchBytesFor(g) > 0) {
    return Multiply(g, scratch);
  }
#pragma omp parallel num_threads(threads)
  {
    const int64_t count = omp_get_num_threads();
    const int64_t i = omp_get_thread_num();
    const int64_t begin = g.n * i / count, end = g.n * (i + 1) / count;
    GemmArgs part = g;
    part.n = end - begin;
    part.b += begin * g.b_column;
    part.c += begin;
    if (g.bias != nullptr) part.bias += begin;
    Multiply(part, nullptr);
  }
}

}  // namespace

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
    MultiplyShared(g, scratch);
  }
  return true;
}

}  // namespace tenon::cpu
