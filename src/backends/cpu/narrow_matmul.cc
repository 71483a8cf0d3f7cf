#include "backends/cpu/narrow_matmul.h"

#include <omp.h>

#include <algorithm>

#include "backends/cpu/gemm.h"

namespace tenon::cpu {
namespace {

// With fewer rows, columns are widened as they are read.
constexpr int64_t kFewRows = 4;
// Elements of a block of columns: what the second-level cache holds beside the
// product's own blocks.
constexpr int64_t kBlockElements = int64_t{96} << 10;
// Smaller products aren't worth waking threads for.
constexpr int64_t kSharedElements = int64_t{1} << 17;

bool IsStreamed(const NarrowMatmulShape& s) {
  return s.m < kFewRows && s.b_row == 1 && s.group == 0;
}

int64_t BlockColumns(const NarrowMatmulShape& s) {
  const int64_t columns = kBlockElements / std::max<int64_t>(s.k, 1);
  return std::min(s.n, std::max<int64_t>(columns / 16 * 16, 32));
}

// A block of `columns`, widened.
GemmArgs ProductOf(const NarrowMatmulShape& s, int64_t columns) {
  GemmArgs g;
  g.m = s.m;
  g.n = columns;
  g.k = s.k;
  g.a_row = s.a_row;
  g.b_row = s.b_row == 1 ? 1 : columns;
  g.b_column = s.b_row == 1 ? s.k : 1;
  g.c_row = s.n;
  return g;
}

int64_t WideBytes(const NarrowMatmulShape& s) {
  const int64_t bytes =
      BlockColumns(s) * s.k * static_cast<int64_t>(sizeof(float));
  return (bytes + 63) & ~int64_t{63};
}

// The last block may have fewer columns, and its product other needs.
int64_t BytesPerThread(const NarrowMatmulShape& s) {
  int64_t most = 0;
  const int64_t block = BlockColumns(s);
  for (const int64_t columns : {block, s.n % block}) {
    if (columns > 0) {
      most = std::max(most, ScratchBytesFor(ProductOf(s, columns)));
    }
  }
  return WideBytes(s) + ((most + 63) & ~int64_t{63});
}

}  // namespace

int64_t NarrowMatmulStep::ScratchBytes(const NarrowMatmulShape& s) {
  return IsStreamed(s) ? 0 : BytesPerThread(s) * s.num_threads;
}

void NarrowMatmulStep::MultiplyBlock(Frame& frame, int64_t begin, int64_t end,
                                     float* wide) const {
  const auto item = static_cast<int64_t>(SizeBytes(s_.type));
  const bool are_columns = s_.b_row == 1;
  WidenArgs w;
  w.type = s_.type;
  w.from = frame.at<std::byte>(s_.b) + begin * s_.b_column * item;
  w.rows = are_columns ? end - begin : s_.k;
  w.size = are_columns ? s_.k : end - begin;
  w.from_step = are_columns ? s_.b_column : s_.b_row;
  w.out = wide;
  w.group = s_.group == 0 ? s_.k : s_.group;
  const int64_t first = begin * (s_.k / w.group);
  if (s_.has_scale) w.scale = frame.at<float>(s_.scale) + first;
  if (s_.has_zero) w.zero = frame.at<float>(s_.zero) + first;
  w.is_per_row = are_columns;
  BestLoops().widen_block(w);
  GemmArgs g = ProductOf(s_, end - begin);
  g.a = frame.at<float>(s_.a);
  g.b = wide;
  g.c = frame.at<float>(s_.c) + begin;
  if (s_.has_bias) g.bias = frame.at<float>(s_.bias) + begin;
  Multiply(g, wide + WideBytes(s_) / static_cast<int64_t>(sizeof(float)));
}

void NarrowMatmulStep::MultiplyColumns(Frame& frame, int64_t begin, int64_t end,
                                       std::byte* scratch) const {
  if (begin == end) return;
  if (!IsStreamed(s_)) {
    const int64_t block = BlockColumns(s_);
    for (int64_t j = begin; j < end; j += block) {
      MultiplyBlock(frame, j, std::min(end, j + block),
                    reinterpret_cast<float*>(scratch));
    }
    return;
  }
  const auto item = static_cast<int64_t>(SizeBytes(s_.type));
  NarrowGemmArgs g;
  g.m = s_.m;
  g.n = end - begin;
  g.k = s_.k;
  g.a = frame.at<float>(s_.a);
  g.a_row = s_.a_row;
  g.type = s_.type;
  g.b = frame.at<std::byte>(s_.b) + begin * s_.b_column * item;
  g.b_column = s_.b_column;
  if (s_.has_scale) g.scale = frame.at<float>(s_.scale) + begin;
  if (s_.has_zero) g.zero = frame.at<float>(s_.zero) + begin;
  if (s_.has_bias) g.bias = frame.at<float>(s_.bias) + begin;
  g.c = frame.at<float>(s_.c) + begin;
  g.c_row = s_.n;
  BestLoops().multiply_narrow(g);
}

bool NarrowMatmulStep::Run(Frame& frame) {
  std::byte* scratch = frame.at<std::byte>(scratch_);
  if (s_.num_threads == 1 || s_.n * s_.k < kSharedElements) {
    MultiplyColumns(frame, 0, s_.n, scratch);
    return true;
  }
  const int64_t bytes = IsStreamed(s_) ? 0 : BytesPerThread(s_);
  // Whole blocks, or single columns.
  const int64_t unit = IsStreamed(s_) ? 1 : BlockColumns(s_);
  const int64_t units = (s_.n + unit - 1) / unit;
#pragma omp parallel num_threads(s_.num_threads)
  {
    const int64_t count = omp_get_num_threads();
    const int64_t i = omp_get_thread_num();
    MultiplyColumns(frame, std::min(s_.n, units * i / count * unit),
                    std::min(s_.n, units * (i + 1) / count * unit),
                    scratch + i * bytes);
  }
  return true;
}

}  // namespace tenon::cpu
