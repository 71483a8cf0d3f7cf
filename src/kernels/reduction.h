// The frame of reductions: a tensor as lines of the elements that one result
// comes from.
#pragma once

#include <span>
#include <vector>

#include "kernels/broadcast.h"
#include "kernels/elements.h"
#include "kernels/kernel.h"

namespace tenon {

// Marks the dimensions that `dims` (an int, a list or None) names. None means
// all; so does an empty list if `empty_is_all`. A 0-d tensor has dimension 0.
bool ReadDims(KernelCall& call, const Tensor& self, const RuntimeValue& dims,
              bool empty_is_all, std::vector<bool>* reduced);
Sizes ReducedSizes(const Tensor& self, const std::vector<bool>& reduced,
                   bool keepdim);
// A view with the kept dimensions first and the reduced ones last.
Tensor ReducedLast(const Tensor& self, const std::vector<bool>& reduced);

// The elements in the order of results: `count` lines of `length` each.
template <typename C>
struct Lines {
  std::vector<C> values;
  int64_t count = 0;
  int64_t length = 0;

  std::span<const C> line(int64_t i) const {
    return {values.data() + i * length, static_cast<size_t>(length)};
  }
};

template <typename C>
Lines<C> ReadLines(const Tensor& self, const std::vector<bool>& reduced) {
  Lines<C> lines;
  lines.count = NumElements(ReducedSizes(self, reduced, false));
  lines.length = 1;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (reduced[d]) lines.length *= self.sizes()[d];
  }
  lines.values = ReadAll<C>(ReducedLast(self, reduced));
  return lines;
}

// The number of elements of one line.
int64_t LineLength(const Tensor& self, const std::vector<bool>& reduced);

// A tensor of `result` dtype with f(line) for each line, contiguous.
template <typename C, typename F>
bool ReduceLines(KernelCall& call, const Tensor& self,
                 const std::vector<bool>& reduced, bool keepdim, DType result,
                 F f, Tensor* out) {
  if (!Allocate(call, result, ReducedSizes(self, reduced, keepdim), out)) {
    return false;
  }
  const Lines<C> lines = ReadLines<C>(self, reduced);
  using Reduced = decltype(f(lines.line(0)));
  std::vector<Reduced> values(static_cast<size_t>(lines.count));
  for (int64_t i = 0; i < lines.count; ++i) {
    values[static_cast<size_t>(i)] = f(lines.line(i));
  }
  WriteAll(out, values);
  return true;
}

// Sums by halves, so that the error grows with the logarithm of the length.
template <typename C, typename F>
C PairwiseSum(std::span<const C> line, F transform) {
  if (line.size() <= 16) {
    C sum(0);
    for (const C value : line) sum = sum + transform(value);
    return sum;
  }
  const size_t half = line.size() / 2;
  return PairwiseSum(line.subspan(0, half), transform) +
         PairwiseSum(line.subspan(half), transform);
}

// int64 for integers and bool, whose sums and products would overflow.
DType SumDType(DType dtype);
// Casts to argument `arg` (dtype=) or, without one, to `otherwise`.
bool CastTo(KernelCall& call, size_t arg, DType otherwise, Tensor* self);

// The parts of the family, one per file reduction_*.cc.
std::span<const KernelEntry> SumKernels();
std::span<const KernelEntry> VarianceKernels();
std::span<const KernelEntry> ExtremaKernels();
std::span<const KernelEntry> ScanKernels();
std::span<const KernelEntry> SortKernels();
std::span<const KernelEntry> UniqueKernels();
std::span<const KernelEntry> StatisticsKernels();

}  // namespace tenon
