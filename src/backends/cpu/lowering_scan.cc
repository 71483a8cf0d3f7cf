// Running sums, products and extrema.
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "backends/cpu/lowering_lines.h"
#include "kernels/arithmetic.h"
#include "kernels/reduction.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

template <typename T>
using Wide = std::conditional_t<kIsInteger<T>, T, double>;

template <typename T, bool kProduct>
void Accumulate(const LineArgs& args) {
  const T* x = static_cast<const T*>(args.x);
  T* out = static_cast<T*>(args.values);
  for (int64_t i = 0; i < args.count; ++i) {
    Wide<T> sum = kProduct ? 1 : 0;
    for (int64_t j = 0; j < args.length; ++j) {
      const Wide<T> value = *x++;
      sum = kProduct ? Mul(sum, value) : Add(sum, value);
      *out++ = static_cast<T>(sum);
    }
  }
}

// The latest of equal extremes; NaN stays once it is there.
template <typename T, bool kMax>
void AccumulateExtreme(const LineArgs& args) {
  const T* line = static_cast<const T*>(args.x);
  T* values = static_cast<T*>(args.values);
  int64_t* indices = args.indices;
  for (int64_t i = 0; i < args.count; ++i, line += args.length) {
    int64_t best = 0;
    for (int64_t j = 0; j < args.length; ++j) {
      const bool is_better =
          !IsNan(line[best]) &&
          (kMax ? line[j] >= line[best] : line[j] <= line[best]);
      if (is_better || IsNan(line[j])) best = j;
      *values++ = line[best];
      *indices++ = best;
    }
  }
}

// log(exp(a) + exp(b)) without overflow; infinities don't become NaN.
template <typename T>
T LogAddExp(T a, T b) {
  if (IsNan(a) || IsNan(b)) return a + b;
  const T low = std::fmin(a, b), high = std::fmax(a, b);
  if (std::isinf(high) && low == high) return high;
  if (low == -std::numeric_limits<T>::infinity()) return high;
  return high + std::log1p(std::exp(low - high));
}

template <typename T>
void AccumulateLogSumExp(const LineArgs& args) {
  const T* x = static_cast<const T*>(args.x);
  T* out = static_cast<T*>(args.values);
  for (int64_t i = 0; i < args.count; ++i) {
    T sum = -std::numeric_limits<T>::infinity();
    for (int64_t j = 0; j < args.length; ++j) {
      sum = LogAddExp(sum, *x++);
      *out++ = sum;
    }
  }
}

constexpr LineFunctions kCumsum = {"cumsum", Accumulate<float, false>,
                                   Accumulate<double, false>,
                                   Accumulate<int64_t, false>};
constexpr LineFunctions kCumprod = {"cumprod", Accumulate<float, true>,
                                    Accumulate<double, true>,
                                    Accumulate<int64_t, true>};
constexpr LineFunctions kCummax = {"cummax", AccumulateExtreme<float, true>,
                                   AccumulateExtreme<double, true>,
                                   AccumulateExtreme<int64_t, true>};
constexpr LineFunctions kCummin = {"cummin", AccumulateExtreme<float, false>,
                                   AccumulateExtreme<double, false>,
                                   AccumulateExtreme<int64_t, false>};
constexpr LineFunctions kLogCumSumExp = {"logcumsumexp",
                                         AccumulateLogSumExp<float>,
                                         AccumulateLogSumExp<double>, nullptr};

bool EmitAlong(PlanBuilder& b, KernelCall& call, const LineFunctions& functions,
               const Tensor& x, bool has_indices) {
  LineOperation op = {&functions, x, {}};
  return ReadLineDims(call, 1, false, &op.reduced) &&
         EmitScan(b, call, op, LengthOf(op), ContiguousStrides(x.sizes()),
                  x.dtype(), has_indices);
}

// cumsum(self, dim, *, dtype)
template <const LineFunctions& kFunctions>
bool Cumulate(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  const DType dtype =
      call.is_none(2) ? SumDType(self.dtype()) : call.arg(2).dtype();
  const Tensor x = self.dtype() == dtype ? self : b.Converted(self, dtype);
  return x.defined() ? EmitAlong(b, call, kFunctions, x, false)
                     : call.Fail("cannot convert " + self.ToString());
}

template <const LineFunctions& kFunctions, bool kHasIndices>
bool Scan(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return EmitAlong(b, call, kFunctions, call.tensor(0), kHasIndices);
}

constexpr LoweringKind kPure = LoweringKind::kPure;

constexpr Lowering kLowerings[] = {
    {"aten.cumsum.default", kPure, Cumulate<kCumsum>},
    {"aten.cumprod.default", kPure, Cumulate<kCumprod>},
    {"aten.cummax.default", kPure, Scan<kCummax, true>},
    {"aten.cummin.default", kPure, Scan<kCummin, true>},
    {"aten.logcumsumexp.default", kPure, Scan<kLogCumSumExp, false>,
     DTypeRule::kFloating},
    {"aten._logcumsumexp.default", kPure, Scan<kLogCumSumExp, false>,
     DTypeRule::kFloating},
};

}  // namespace

std::span<const Lowering> ScanLowerings() { return kLowerings; }

}  // namespace tenon::cpu
