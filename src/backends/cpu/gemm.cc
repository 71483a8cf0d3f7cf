#include "backends/cpu/gemm.h"

#include <omp.h>

#include <algorithm>

#include "support/mapped_pages.h"

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

namespace {

// Below this many elements of B, or multiplications, threads cost more than
// they bring.
constexpr int64_t kLargeMatrix = int64_t{1} << 18;
constexpr double kLargeProduct = 4e6;

int NumThreads(const GemmArgs& g) {
  // As doubles: a product of sizes may be large.
  const double matrix = double(g.n) * double(g.k);
  const bool is_large =
      matrix >= kLargeMatrix || matrix * double(g.m) >= kLargeProduct;
  return is_large ? omp_get_max_threads() : 1;
}

// Of one thread; keeps the next one's aligned.
int64_t ScratchOfThread(const GemmArgs& g) {
  return (ScratchBytesFor(g) + 63) & ~int64_t{63};
}

void MultiplyShared(const GemmArgs& g, int num_threads, float* scratch) {
  if (num_threads == 1) return Multiply(g, scratch);
  // Of what fills the vectors of every instruction set.
  constexpr int64_t kColumns = 48;
  const int64_t step = ScratchOfThread(g) / int64_t{sizeof(float)};
#pragma omp parallel num_threads(num_threads)
  {
    const int64_t count = omp_get_num_threads();
    const int64_t i = omp_get_thread_num();
    const int64_t groups = (g.n + kColumns - 1) / kColumns;
    const int64_t begin = std::min(g.n, groups * i / count * kColumns);
    const int64_t end = std::min(g.n, groups * (i + 1) / count * kColumns);
    GemmArgs part = g;
    part.n = end - begin;
    part.b += begin * g.b_column;
    part.c += begin;
    if (g.bias != nullptr) part.bias += begin;
    Multiply(part, scratch + i * step);
  }
}

}  // namespace

MatmulStep::MatmulStep(MatmulShape shape, Ref scratch)
    : shape_(std::move(shape)),
      scratch_(scratch),
      num_threads_(NumThreads(ProductOf(shape_))) {}

int64_t MatmulStep::ScratchBytes(const MatmulShape& shape) {
  const GemmArgs g = ProductOf(shape);
  return NumThreads(g) * ScratchOfThread(g);
}

void MatmulStep::MapMatrix(const float* b) {
  if (b == mapped_) return;
  mapped_ = b;
  const int64_t count =
      (shape_.n - 1) * shape_.b_column + (shape_.k - 1) * shape_.b_row + 1;
  if (count < kLargeMatrix) return;
  MapPages(Bytes(reinterpret_cast<const std::byte*>(b),
                 static_cast<size_t>(count) * sizeof(float)));
}

bool MatmulStep::Run(Frame& frame) {
  const float* a = frame.at<float>(shape_.a);
  const float* b = frame.at<float>(shape_.b);
  float* c = frame.at<float>(shape_.c);
  float* scratch = frame.at<float>(scratch_);
  GemmArgs g = ProductOf(shape_);
  if (shape_.has_bias) g.bias = frame.at<float>(shape_.bias);
  if (shape_.b_offsets.size() == 1) MapMatrix(b + shape_.b_offsets[0]);
  for (size_t i = 0; i < shape_.c_offsets.size(); ++i) {
    g.a = a + shape_.a_offsets[i];
    g.b = b + shape_.b_offsets[i];
    g.c = c + shape_.c_offsets[i];
    MultiplyShared(g, num_threads_, scratch);
  }
  return true;
}

}  // namespace tenon::cpu
