#include "backends/cpu/int4_matmul.h"

#include <omp.h>

#include <algorithm>

#include "backends/cpu/gemm.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kMostColumns = 64;  // of a run: a block of the widest layout
// Smaller products aren't worth waking threads for.
constexpr int64_t kSharedElements = int64_t{1} << 17;

GemmArgs ProductOf(const Int4MatmulShape& s, int64_t columns) {
  GemmArgs g;
  g.m = s.m;
  g.n = columns;
  g.k = s.k;
  g.a_row = s.a_row;
  g.b_row = columns;
  g.b_column = 1;
  g.c_row = s.n;
  return g;
}

int64_t WideElements(const Int4MatmulShape& s) { return kMostColumns * s.k; }

int64_t BytesPerThread(const Int4MatmulShape& s) {
  const Int4Layout layout(s.n, s.k);
  int64_t most = 0;
  for (int64_t j = 0; j < s.n; j += layout.FindRun(j).size) {
    const GemmArgs product = ProductOf(s, layout.FindRun(j).size);
    most = std::max(most, ScratchBytesFor(product));
  }
  const auto wide = WideElements(s) * static_cast<int64_t>(sizeof(float));
  return wide + ((most + 63) & ~int64_t{63});
}

// Columns of B whose elements lie side by side.
struct UnpackArgs {
  const uint8_t* bytes;     // of the first row of B
  int64_t step;             // bytes from row to row
  int shift;                // of the half, where columns aren't in pairs
  const float* parameters;  // of the first group; 2 per column
  int64_t parameters_step;  // from group to group
  int64_t k, group, columns;
  float* out;  // [k, columns]
};

template <bool kIsPaired>
void Unpack(const UnpackArgs& u) {
  float scale[kMostColumns], zero[kMostColumns];
  for (int64_t p = 0; p < u.k; ++p) {
    if (p % u.group == 0) {
      const float* from = u.parameters + p / u.group * u.parameters_step;
      for (int64_t j = 0; j < u.columns; ++j) {
        scale[j] = from[2 * j];
        zero[j] = from[2 * j + 1];
      }
    }
    const uint8_t* bytes = u.bytes + p * u.step;
    float* out = u.out + p * u.columns;
    for (int64_t j = 0; j < u.columns; ++j) {
      const int q = kIsPaired ? bytes[j / 2] >> (j % 2 * 4) & 15
                              : bytes[j] >> u.shift & 15;
      out[j] = static_cast<float>(q - 8) * scale[j] + zero[j];
    }
  }
}

}  // namespace

int64_t Int4MatmulStep::ScratchBytes(const Int4MatmulShape& s) {
  return BytesPerThread(s) * s.num_threads;
}

void Int4MatmulStep::MultiplyRun(Frame& frame, int64_t first,
                                 const Int4Layout::Run& run,
                                 float* wide) const {
  const Int4Layout::Place at = layout_.Find(first, 0);
  UnpackArgs u;
  u.bytes = frame.at<uint8_t>(s_.b) + at.byte;
  u.step = run.step;
  u.shift = at.is_high ? 4 : 0;
  u.parameters = frame.at<float>(s_.parameters) + 2 * first;
  u.parameters_step = 2 * s_.n;
  u.k = s_.k;
  u.group = s_.group;
  u.columns = run.size;
  u.out = wide;
  if (run.is_paired) {
    Unpack<true>(u);
  } else {
    Unpack<false>(u);
  }
  GemmArgs g = ProductOf(s_, run.size);
  g.a = frame.at<float>(s_.a);
  g.b = wide;
  g.c = frame.at<float>(s_.c) + first;
  Multiply(g, wide + WideElements(s_));
}

bool Int4MatmulStep::Run(Frame& frame) {
  std::byte* scratch = frame.at<std::byte>(scratch_);
  const bool is_shared = s_.num_threads > 1 && s_.n * s_.k >= kSharedElements;
  const int64_t bytes = BytesPerThread(s_);
#pragma omp parallel num_threads(is_shared ? s_.num_threads : 1)
  {
    const int64_t count = omp_get_num_threads(), i = omp_get_thread_num();
    auto* wide = reinterpret_cast<float*>(scratch + i * bytes);
    int64_t number = 0;
    for (int64_t j = 0; j < s_.n; ++number) {
      const Int4Layout::Run run = layout_.FindRun(j);
      if (number % count == i) MultiplyRun(frame, j, run, wide);
      j += run.size;
    }
  }
  return true;
}

}  // namespace tenon::cpu
