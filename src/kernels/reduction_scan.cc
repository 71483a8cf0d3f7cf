// Running sums, products and extrema; differences and trapezoids.
#include <cmath>
#include <limits>

#include "kernels/arithmetic.h"
#include "kernels/compose.h"
#include "kernels/promotion.h"
#include "kernels/reduction.h"
#include "kernels/views.h"

namespace tenon {
namespace {

template <typename C>
using Wide = std::conditional_t<kIsComplex<C>, std::complex<double>,
                                std::conditional_t<kIsReal<C>, double, C>>;

// Calls f(line, out) for each line along `dim`; `out` of dtype `result`.
template <typename C, typename Out, typename F>
bool ScanLines(KernelCall& call, const Tensor& self, int64_t dim, DType result,
               F f) {
  std::vector<bool> scanned;
  if (!ReadDims(call, self, dim, false, &scanned)) return false;
  Tensor out;
  if (!Allocate(call, result, self.sizes(), &out)) return false;
  const Lines<C> lines = ReadLines<C>(self, scanned);
  std::vector<Out> values(lines.values.size());
  for (int64_t i = 0; i < lines.count; ++i) {
    f(lines.line(i), values.data() + i * lines.length);
  }
  Tensor view = ReducedLast(out, scanned);
  WriteAll(&view, values);
  call.Return(out);
  return true;
}

// cumsum(self, dim, *, dtype)
template <bool kProduct>
bool Cumulate(KernelCall& call) {
  Tensor self = call.tensor(0);
  if (!CastTo(call, 2, SumDType(self.dtype()), &self)) return false;
  return DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ScanLines<C, Wide<C>>(call, self, call.Int(1), self.dtype(),
                                 [](std::span<const C> line, Wide<C>* out) {
                                   Wide<C> sum(kProduct ? 1 : 0);
                                   for (size_t i = 0; i < line.size(); ++i) {
                                     sum = kProduct
                                               ? Mul(sum, Wide<C>(line[i]))
                                               : Add(sum, Wide<C>(line[i]));
                                     out[i] = sum;
                                   }
                                 });
  });
}

// The latest of equal extremes; nan stays once it is there.
template <bool kMax>
bool CumulateExtremum(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (IsComplex(self.dtype())) return call.Fail("complex has no order");
  return DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (kIsComplex<C>) {
      return false;
    } else {
      const auto advance = [](std::span<const C> line, size_t best, size_t i) {
        if (IsNan(line[i])) return i;
        if (IsNan(line[best])) return best;
        const bool better =
            kMax ? line[i] >= line[best] : line[i] <= line[best];
        return better ? i : best;
      };
      return ScanLines<C, C>(call, self, call.Int(1), self.dtype(),
                             [&](std::span<const C> line, C* out) {
                               size_t best = 0;
                               for (size_t i = 0; i < line.size(); ++i) {
                                 best = advance(line, best, i);
                                 out[i] = line[best];
                               }
                             }) &&
             ScanLines<C, int64_t>(call, self, call.Int(1), DType::kInt64,
                                   [&](std::span<const C> line, int64_t* out) {
                                     size_t best = 0;
                                     for (size_t i = 0; i < line.size(); ++i) {
                                       best = advance(line, best, i);
                                       out[i] = static_cast<int64_t>(best);
                                     }
                                   });
    }
  });
}

// log(exp(a) + exp(b)) without overflow; infinities don't become nan.
template <typename C>
C LogAddExp(C a, C b) {
  if (IsNan(a) || IsNan(b)) return a + b;
  const C low = std::min(a, b), high = std::max(a, b);
  if (std::isinf(high) && low == high) return high;
  if (low == -std::numeric_limits<C>::infinity()) return high;
  return high + std::log1p(std::exp(low - high));
}

template <typename T>
std::complex<T> LogAddExp(std::complex<T> a, std::complex<T> b) {
  if (b.real() > a.real()) std::swap(a, b);
  if (b.real() == -std::numeric_limits<T>::infinity()) return a;
  return a + std::log(T(1) + std::exp(b - a));
}

bool Logcumsumexp(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (!IsFloating(self.dtype()) && !IsComplex(self.dtype())) {
    return call.Fail("logcumsumexp needs a floating or complex dtype");
  }
  return DispatchFloating(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ScanLines<C, C>(
        call, self, call.Int(1), self.dtype(),
        [](std::span<const C> line, C* out) {
          C sum(-std::numeric_limits<decltype(std::abs(C()))>::infinity());
          for (size_t i = 0; i < line.size(); ++i) {
            sum = LogAddExp(sum, line[i]);
            out[i] = sum;
          }
        });
  });
}

// --- diff(self, n, dim, prepend, append) ---

bool Diff(KernelCall& call) {
  Tensor self = call.tensor(0);
  int64_t n = call.Int(1), dim = call.Int(2);
  if (self.dim() == 0) return call.Fail("diff needs a dimension");
  if (n < 0) return call.Fail("a negative order of differences");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (!call.is_none(3) || !call.is_none(4)) {
    std::vector<Tensor> parts;
    if (!call.is_none(3)) parts.push_back(call.tensor(3));
    parts.push_back(self);
    if (!call.is_none(4)) parts.push_back(call.tensor(4));
    if (!CallKernel(call, "aten.cat.default", {TensorList(parts), dim},
                    &self)) {
      return false;
    }
  }
  if (n == 0) {
    const Tensor copy = self.Clone();
    if (!copy.defined()) return call.Fail("no memory");
    call.Return(copy);
    return true;
  }
  const bool is_bool = self.dtype() == DType::kBool;
  for (; n > 0; --n) {
    const int64_t length = std::max<int64_t>(self.size(dim) - 1, 0);
    const int64_t start = self.size(dim) > 0 ? 1 : 0;
    const Tensor later = Narrowed(self, dim, start, length);
    const Tensor earlier = Narrowed(self, dim, 0, length);
    if (!CallKernel(call,
                    is_bool ? "aten.logical_xor.default" : "aten.sub.Tensor",
                    {later, earlier}, &self)) {
      return false;
    }
  }
  call.Return(self);
  return true;
}

// --- trapezoids: half the sum of neighbours, times their distance ---

bool Panels(KernelCall& call, const Tensor& y, const RuntimeValue& x,
            int64_t dim, Tensor* panels) {
  const int64_t length = std::max<int64_t>(y.size(dim) - 1, 0);
  const int64_t start = y.size(dim) > 0 ? 1 : 0;
  Tensor sums;
  if (!CallKernel(
          call, "aten.add.Tensor",
          {Narrowed(y, dim, start, length), Narrowed(y, dim, 0, length)},
          &sums)) {
    return false;
  }
  RuntimeValue distance = x;
  if (x.is_tensor()) {
    Tensor points = x.tensor();
    if (points.dim() == 1 && y.dim() > 1) {
      // The points lie along `dim`.
      Sizes sizes(static_cast<size_t>(y.dim() - dim), 1);
      Sizes strides(sizes.size(), 0);
      sizes[0] = points.size(0);
      strides[0] = points.stride(0);
      points = points.View(sizes, strides, points.offset());
    }
    const int64_t along = points.dim() - (y.dim() - dim);
    if (along < 0 || points.size(along) != y.size(dim)) {
      return call.Fail("x and y have different numbers of points");
    }
    Tensor steps;
    if (!CallKernel(call, "aten.sub.Tensor",
                    {Narrowed(points, along, start, length),
                     Narrowed(points, along, 0, length)},
                    &steps)) {
      return false;
    }
    distance = steps;
  }
  Tensor products;
  return CallKernel(call, "aten.mul.Tensor", {sums, distance}, &products) &&
         CallKernel(call, "aten.div.Tensor", {products, 2.0}, panels);
}

// trapezoid(y, x or dx, dim)
template <bool kCumulative>
bool Trapezoid(KernelCall& call) {
  const Tensor& y = call.tensor(0);
  int64_t dim = call.Int(2);
  if (y.dim() == 0) return call.Fail("trapezoids need a dimension");
  if (!WrapDim(call, y.dim(), &dim)) return false;
  if (y.size(dim) == 0 && !kCumulative) {
    Sizes sizes = y.sizes();
    sizes.erase(sizes.begin() + dim);
    Tensor zeros;
    if (!AllocateZeros(call, y.dtype(), sizes, &zeros)) return false;
    call.Return(zeros);
    return true;
  }
  Tensor panels;
  if (!Panels(call, y, call.arg(1), dim, &panels)) return false;
  if (kCumulative) {
    return ForwardTo(call, "aten.cumsum.default", {panels, dim});
  }
  return ForwardTo(call, "aten.sum.dim_IntList", {panels, IntList({dim})});
}

constexpr KernelEntry kEntries[] = {
    {"aten.cumsum.default", Cumulate<false>},
    {"aten.cumprod.default", Cumulate<true>},
    {"aten.cummax.default", CumulateExtremum<true>},
    {"aten.cummin.default", CumulateExtremum<false>},
    {"aten.logcumsumexp.default", Logcumsumexp},
    {"aten._logcumsumexp.default", Logcumsumexp},
    {"aten.diff.default", Diff},
    {"aten.trapezoid.x", Trapezoid<false>},
    {"aten.trapezoid.dx", Trapezoid<false>},
    {"aten.trapz.x", Trapezoid<false>},
    {"aten.trapz.dx", Trapezoid<false>},
    {"aten.cumulative_trapezoid.x", Trapezoid<true>},
    {"aten.cumulative_trapezoid.dx", Trapezoid<true>},
};

}  // namespace

std::span<const KernelEntry> ScanKernels() { return kEntries; }

}  // namespace tenon
