// max, min, amax, amin, argmax, argmin, median, mode, kthvalue.
//
// nan is an extreme of both kinds; the first of equal extremes is found.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/arithmetic.h"
#include "kernels/ordering.h"
#include "kernels/reduction.h"

namespace tenon {
namespace {

template <typename C>
size_t ArgExtremum(std::span<const C> line, bool want_max) {
  size_t best = 0;
  for (size_t i = 1; i < line.size(); ++i) {
    if (IsNan(line[best])) break;
    const bool better = want_max ? line[i] > line[best] : line[i] < line[best];
    if (better || IsNan(line[i])) best = i;
  }
  return best;
}

bool CheckOrdered(KernelCall& call, const Tensor& self) {
  if (!IsComplex(self.dtype())) return true;
  return call.Fail("complex numbers have no order");
}

bool CheckNotEmpty(KernelCall& call, const Tensor& self,
                   const std::vector<bool>& reduced) {
  if (LineLength(self, reduced) > 0) return true;
  return call.Fail("an extremum of no elements isn't defined");
}

// One value per line, by the index of it.
template <typename F>
bool ReturnValues(KernelCall& call, const Tensor& self,
                  const std::vector<bool>& reduced, bool keepdim, F index_of) {
  Tensor out;
  const bool ok = DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (kIsComplex<C>) {
      return false;
    } else {
      return ReduceLines<C>(
          call, self, reduced, keepdim, self.dtype(),
          [&](std::span<const C> line) { return line[index_of(line)]; }, &out);
    }
  });
  if (ok) call.Return(out);
  return ok;
}

template <typename F>
bool ReturnIndices(KernelCall& call, const Tensor& self,
                   const std::vector<bool>& reduced, bool keepdim, F index_of) {
  Tensor out;
  const bool ok = DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (kIsComplex<C>) {
      return false;
    } else {
      return ReduceLines<C>(
          call, self, reduced, keepdim, DType::kInt64,
          [&](std::span<const C> line) {
            return static_cast<int64_t>(index_of(line));
          },
          &out);
    }
  });
  if (ok) call.Return(out);
  return ok;
}

template <bool kMax>
constexpr auto kExtremum = [](auto line) { return ArgExtremum(line, kMax); };

// max(self)
template <bool kMax>
bool Whole(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const std::vector<bool> all(self.sizes().size(), true);
  return CheckOrdered(call, self) && CheckNotEmpty(call, self, all) &&
         ReturnValues(call, self, all, false, kExtremum<kMax>);
}

// amax(self, dim, keepdim)
template <bool kMax>
bool Amax(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> reduced;
  return CheckOrdered(call, self) &&
         ReadDims(call, self, call.arg(1), true, &reduced) &&
         CheckNotEmpty(call, self, reduced) &&
         ReturnValues(call, self, reduced, call.Bool(2), kExtremum<kMax>);
}

// aminmax(self, *, dim, keepdim)
bool Aminmax(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> reduced;
  return CheckOrdered(call, self) &&
         ReadDims(call, self, call.arg(1), true, &reduced) &&
         CheckNotEmpty(call, self, reduced) &&
         ReturnValues(call, self, reduced, call.Bool(2), kExtremum<false>) &&
         ReturnValues(call, self, reduced, call.Bool(2), kExtremum<true>);
}

// max.dim(self, dim, keepdim)
template <bool kMax>
bool ByDim(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> reduced;
  return CheckOrdered(call, self) &&
         ReadDims(call, self, call.arg(1), false, &reduced) &&
         CheckNotEmpty(call, self, reduced) &&
         ReturnValues(call, self, reduced, call.Bool(2), kExtremum<kMax>) &&
         ReturnIndices(call, self, reduced, call.Bool(2), kExtremum<kMax>);
}

// argmax(self, dim, keepdim); without a dim the index counts row-major.
template <bool kMax>
bool Arg(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> reduced;
  if (self.dtype() == DType::kBool) return call.Fail("argmax of bool");
  return CheckOrdered(call, self) &&
         ReadDims(call, self, call.arg(1), true, &reduced) &&
         CheckNotEmpty(call, self, reduced) &&
         ReturnIndices(call, self, reduced, call.Bool(2), kExtremum<kMax>);
}

// --- order statistics ---

// The index of the k-th smallest (from 0), nan largest.
template <typename C>
size_t KthIndex(std::span<const C> line, size_t k) {
  std::vector<size_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::nth_element(order.begin(), order.begin() + static_cast<int64_t>(k),
                   order.end(), [&](size_t a, size_t b) {
                     if (SortsBefore(line[a], line[b])) return true;
                     return !SortsBefore(line[b], line[a]) && a < b;
                   });
  return order[k];
}

template <typename C>
size_t CountNans(std::span<const C> line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](C x) { return IsNan(x); }));
}

// The lower middle; nan if there is one, unless those are left out.
template <typename C>
size_t MedianIndex(std::span<const C> line, bool skip_nan) {
  const size_t nans = CountNans(line);
  if (nans > 0 && (!skip_nan || nans == line.size())) {
    const auto first =
        std::find_if(line.begin(), line.end(), [](C x) { return IsNan(x); });
    return static_cast<size_t>(first - line.begin());
  }
  return KthIndex(line, (line.size() - nans - 1) / 2);
}

// The most frequent value, the smallest of those; its last index.
template <typename C>
size_t ModeIndex(std::span<const C> line) {
  std::vector<size_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return SortsBefore(line[a], line[b]);
  });
  size_t best = 0, best_count = 0;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && line[order[end]] == line[order[begin]]) ++end;
    if (end - begin > best_count) {
      best_count = end - begin;
      best = order[end - 1];
    }
    begin = end;
  }
  return best;
}

template <typename F>
bool ValuesAndIndices(KernelCall& call, int64_t dim, bool keepdim, F index_of) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> reduced;
  return CheckOrdered(call, self) &&
         ReadDims(call, self, dim, false, &reduced) &&
         CheckNotEmpty(call, self, reduced) &&
         ReturnValues(call, self, reduced, keepdim, index_of) &&
         ReturnIndices(call, self, reduced, keepdim, index_of);
}

// kthvalue(self, k, dim, keepdim), k from 1.
bool Kthvalue(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t k = call.Int(1), dim = call.Int(2);
  std::vector<bool> reduced;
  if (!ReadDims(call, self, dim, false, &reduced)) return false;
  if (k < 1 || k > LineLength(self, reduced)) {
    return call.Fail("k lies outside the dimension");
  }
  return ValuesAndIndices(call, dim, call.Bool(3), [k](auto line) {
    return KthIndex(line, static_cast<size_t>(k - 1));
  });
}

template <bool kSkipNan>
bool MedianDim(KernelCall& call) {
  return ValuesAndIndices(call, call.Int(1), call.Bool(2), [](auto line) {
    return MedianIndex(line, kSkipNan);
  });
}

template <bool kSkipNan>
bool Median(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const std::vector<bool> all(self.sizes().size(), true);
  if (!CheckOrdered(call, self)) return false;
  if (self.numel() == 0 && IsFloating(self.dtype())) {
    Tensor out;
    if (!Allocate(call, self.dtype(), {}, &out)) return false;
    Fill(&out, std::numeric_limits<double>::quiet_NaN());
    call.Return(out);
    return true;
  }
  return CheckNotEmpty(call, self, all) &&
         ReturnValues(call, self, all, false,
                      [](auto line) { return MedianIndex(line, kSkipNan); });
}

bool Mode(KernelCall& call) {
  return ValuesAndIndices(call, call.Int(1), call.Bool(2),
                          [](auto line) { return ModeIndex(line); });
}

constexpr KernelEntry kEntries[] = {
    {"aten.max.default", Whole<true>},
    {"aten.min.default", Whole<false>},
    {"aten.amax.default", Amax<true>},
    {"aten.amin.default", Amax<false>},
    {"aten.aminmax.default", Aminmax},
    {"aten.max.dim", ByDim<true>},
    {"aten.min.dim", ByDim<false>},
    {"aten.argmax.default", Arg<true>},
    {"aten.argmin.default", Arg<false>},
    {"aten.kthvalue.default", Kthvalue},
    {"aten.median.default", Median<false>},
    {"aten.median.dim", MedianDim<false>},
    {"aten.nanmedian.default", Median<true>},
    {"aten.nanmedian.dim", MedianDim<true>},
    {"aten.mode.default", Mode},
};

}  // namespace

std::span<const KernelEntry> ExtremaKernels() { return kEntries; }

}  // namespace tenon
