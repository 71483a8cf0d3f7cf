// var, std, and both with the mean.
//
// The divisor is max(0, n - correction). Sums are in double, as PyTorch's are
// on CPU; complex numbers vary by the squares of both parts, so that the
// variance is real.
#include <cmath>

#include "kernels/promotion.h"
#include "kernels/reduction.h"

namespace tenon {
namespace {

template <typename C>
using Wide = std::conditional_t<kIsComplex<C>, std::complex<double>, double>;

template <typename C>
Wide<C> MeanOf(std::span<const C> line) {
  Wide<C> sum(0);
  for (const C value : line) sum += Wide<C>(value);
  return sum / static_cast<double>(line.size());
}

template <typename C>
double VarianceOf(std::span<const C> line, double correction) {
  const Wide<C> mean = MeanOf(line);
  double sum = 0;
  for (const C value : line) sum += std::norm(Wide<C>(value) - mean);
  const double count = static_cast<double>(line.size());
  return sum / std::max(0.0, count - correction);
}

struct Request {
  bool root = false;       // std instead of var
  bool with_mean = false;  // a second result
};

bool Compute(KernelCall& call, Request request, const RuntimeValue& dims,
             double correction, bool keepdim) {
  const Tensor& self = call.tensor(0);
  std::vector<bool> reduced;
  if (!IsFloating(self.dtype()) && !IsComplex(self.dtype())) {
    return call.Fail("a variance needs a floating or complex dtype");
  }
  if (!ReadDims(call, self, dims, true, &reduced)) return false;
  Tensor variance, mean;
  const bool ok = DispatchFloating(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReduceLines<C>(
               call, self, reduced, keepdim, RealDType(self.dtype()),
               [&](std::span<const C> line) {
                 const double v = VarianceOf(line, correction);
                 return request.root ? std::sqrt(v) : v;
               },
               &variance) &&
           (!request.with_mean ||
            ReduceLines<C>(
                call, self, reduced, keepdim, self.dtype(),
                [](std::span<const C> line) { return MeanOf(line); }, &mean));
  });
  if (!ok) return false;
  call.Return(variance);
  if (request.with_mean) call.Return(mean);
  return true;
}

// (self, unbiased)
template <bool kRoot, bool kWithMean>
bool Whole(KernelCall& call) {
  return Compute(call, {kRoot, kWithMean}, {}, call.Bool(1) ? 1 : 0, false);
}

// (self, dim, unbiased, keepdim)
template <bool kRoot, bool kWithMean>
bool ByDim(KernelCall& call) {
  return Compute(call, {kRoot, kWithMean}, call.arg(1), call.Bool(2) ? 1 : 0,
                 call.Bool(3));
}

// (self, dim, *, correction, keepdim); no correction is 1.
template <bool kRoot, bool kWithMean>
bool Corrected(KernelCall& call) {
  const double correction = call.is_none(2) ? 1.0 : call.Float(2);
  return Compute(call, {kRoot, kWithMean}, call.arg(1), correction,
                 call.Bool(3));
}

constexpr KernelEntry kEntries[] = {
    {"aten.var.default", Whole<false, false>},
    {"aten.var.dim", ByDim<false, false>},
    {"aten.var.correction", Corrected<false, false>},
    {"aten.std.default", Whole<true, false>},
    {"aten.std.dim", ByDim<true, false>},
    {"aten.std.correction", Corrected<true, false>},
    {"aten.var_mean.default", Whole<false, true>},
    {"aten.var_mean.dim", ByDim<false, true>},
    {"aten.var_mean.correction", Corrected<false, true>},
    {"aten.std_mean.default", Whole<true, true>},
    {"aten.std_mean.dim", ByDim<true, true>},
    {"aten.std_mean.correction", Corrected<true, true>},
};

}  // namespace

std::span<const KernelEntry> VarianceKernels() { return kEntries; }

}  // namespace tenon
