// Reductions a line at a time: products, variances, norms, counts, and sums of
// what has no loops of its own.
#include <cmath>
#include <limits>
#include <string>

#include "backends/cpu/lowering_lines.h"
#include "kernels/arithmetic.h"
#include "kernels/promotion.h"
#include "kernels/reduction.h"

namespace tenon::cpu {
namespace {

template <typename Out, typename T, typename F>
void ReduceEach(const LineArgs& args, F reduce) {
  const T* x = static_cast<const T*>(args.x);
  Out* out = static_cast<Out*>(args.values);
  const auto length = static_cast<size_t>(args.length);
  for (int64_t i = 0; i < args.count; ++i, x += args.length) {
    out[i] = static_cast<Out>(reduce(std::span<const T>(x, length)));
  }
}

template <typename T>
T SumOf(std::span<const T> line) {
  if constexpr (kIsInteger<T>) {
    T sum = 0;
    for (const T value : line) sum = Add(sum, value);
    return sum;
  } else {
    return PairwiseSum(line, [](T x) { return x; });
  }
}

template <typename T>
void SumEach(const LineArgs& args) {
  ReduceEach<T, T>(args, SumOf<T>);
}

template <typename T>
void MeanEach(const LineArgs& args) {
  ReduceEach<T, T>(args, [](std::span<const T> line) {
    return SumOf(line) / static_cast<T>(line.size());
  });
}

template <typename T>
void ProductEach(const LineArgs& args) {
  ReduceEach<T, T>(args, [](std::span<const T> line) {
    T product = 1;
    for (const T value : line) product = Mul(product, value);
    return product;
  });
}

template <typename T>
void NanSumEach(const LineArgs& args) {
  ReduceEach<T, T>(args, [](std::span<const T> line) {
    if constexpr (kIsInteger<T>) {
      return SumOf(line);
    } else {
      return PairwiseSum(line, [](T x) { return std::isnan(x) ? T(0) : x; });
    }
  });
}

template <typename T>
double WideMean(std::span<const T> line) {
  double sum = 0;
  for (const T value : line) sum += static_cast<double>(value);
  return sum / static_cast<double>(line.size());
}

template <typename T>
void WideMeanEach(const LineArgs& args) {
  ReduceEach<T, T>(args, WideMean<T>);
}

// p = the correction.
template <typename T, bool kRoot>
void VarianceEach(const LineArgs& args) {
  ReduceEach<T, T>(args, [&](std::span<const T> line) {
    const double mean = WideMean(line);
    double sum = 0;
    for (const T value : line) {
      const double d = static_cast<double>(value) - mean;
      sum += d * d;
    }
    const double count = static_cast<double>(line.size());
    const double variance = sum / std::fmax(0.0, count - args.p);
    return kRoot ? std::sqrt(variance) : variance;
  });
}

template <typename T>
void CountEach(const LineArgs& args) {
  ReduceEach<int64_t, T>(args, [](std::span<const T> line) {
    int64_t count = 0;
    for (const T value : line) count += value != T(0);
    return count;
  });
}

// (sum |x|^p)^(1/p); 0 counts, infinities are extremes.
template <typename T>
double NormOf(std::span<const T> line, double order) {
  double norm = order < 0 && std::isinf(order)
                    ? std::numeric_limits<double>::infinity()
                    : 0.0;
  for (const T value : line) {
    const double x = std::abs(static_cast<double>(value));
    if (std::isinf(order)) {
      norm = order > 0 ? Maximum(norm, x) : Minimum(norm, x);
    } else if (order == 0) {
      norm += x != 0 ? 1 : 0;
    } else if (order == 1) {
      norm += x;
    } else if (order == 2) {
      norm += x * x;
    } else {
      norm += std::pow(x, order);
    }
  }
  if (std::isinf(order) || order == 0 || order == 1) return norm;
  return order == 2 ? std::sqrt(norm) : std::pow(norm, 1 / order);
}

template <typename T>
void NormEach(const LineArgs& args) {
  ReduceEach<T, T>(
      args, [&](std::span<const T> line) { return NormOf<T>(line, args.p); });
}

template <typename T>
void LogSumExpEach(const LineArgs& args) {
  ReduceEach<T, T>(args, [](std::span<const T> line) {
    T largest = -std::numeric_limits<T>::infinity();
    for (const T value : line) largest = Maximum(largest, value);
    // An infinite maximum would give inf - inf.
    const T shift = std::isinf(largest) ? T(0) : largest;
    const T sum =
        PairwiseSum(line, [shift](T x) { return std::exp(x - shift); });
    return std::log(sum) + shift;
  });
}

}  // namespace

const LineFunctions kSumOfLines = {"sum", SumEach<float>, SumEach<double>,
                                   SumEach<int64_t>};
const LineFunctions kMeanOfLines = {"mean", MeanEach<float>, MeanEach<double>,
                                    nullptr};

namespace {

constexpr LineFunctions kProduct = {"product", ProductEach<float>,
                                    ProductEach<double>, ProductEach<int64_t>};
constexpr LineFunctions kNanSum = {"nansum", NanSumEach<float>,
                                   NanSumEach<double>, NanSumEach<int64_t>};
constexpr LineFunctions kWideMean = {"mean", WideMeanEach<float>,
                                     WideMeanEach<double>, nullptr};
constexpr LineFunctions kVariance = {"variance", VarianceEach<float, false>,
                                     VarianceEach<double, false>, nullptr};
constexpr LineFunctions kDeviation = {"deviation", VarianceEach<float, true>,
                                      VarianceEach<double, true>, nullptr};
constexpr LineFunctions kCount = {"count", CountEach<float>, CountEach<double>,
                                  CountEach<int64_t>};
constexpr LineFunctions kNorm = {"norm", NormEach<float>, NormEach<double>,
                                 nullptr};
constexpr LineFunctions kLogSumExp = {"logsumexp", LogSumExpEach<float>,
                                      LogSumExpEach<double>, nullptr};

// --- products and sums ---

// (self, dtype) or (self, dim, keepdim, dtype)
template <const LineFunctions& kFunctions>
bool Accumulate(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const bool has_dims = call.num_args() > 2;
  const Tensor& self = call.tensor(0);
  const RuntimeValue& asked = call.arg(has_dims ? 3 : 1);
  const DType dtype = asked.is_none() ? SumDType(self.dtype()) : asked.dtype();
  LineOperation op = {
      &kFunctions, self.dtype() == dtype ? self : b.Converted(self, dtype), {}};
  if (!op.x.defined()) return call.Fail("cannot convert " + self.ToString());
  return ReadDims(call, self, has_dims ? call.arg(1) : RuntimeValue(), true,
                  &op.reduced) &&
         EmitReduction(b, call, op, has_dims && call.Bool(2), dtype, false);
}

bool CountNonzero(PlanBuilder& b, KernelCall& call, const Lowering&) {
  LineOperation op = {&kCount, call.tensor(0), {}};
  return ReadLineDims(call, 1, true, &op.reduced) &&
         EmitReduction(b, call, op, false, DType::kInt64, false, DType::kInt64);
}

// --- variances ---

bool Spread(PlanBuilder& b, KernelCall& call, bool with_mean,
            const LineFunctions& functions, const RuntimeValue& dims,
            double correction, bool keepdim) {
  LineOperation op = {&functions, call.tensor(0), {}, false, correction};
  if (!ReadDims(call, op.x, dims, true, &op.reduced) ||
      !EmitReduction(b, call, op, keepdim, op.x.dtype(), false)) {
    return false;
  }
  op.functions = &kWideMean;
  return !with_mean || EmitReduction(b, call, op, keepdim, op.x.dtype(), false);
}

// (self, unbiased)
template <const LineFunctions& kFunctions, bool kWithMean>
bool SpreadOfAll(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Spread(b, call, kWithMean, kFunctions, {}, call.Bool(1) ? 1 : 0,
                false);
}

// (self, dim, unbiased, keepdim)
template <const LineFunctions& kFunctions, bool kWithMean>
bool SpreadByDim(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Spread(b, call, kWithMean, kFunctions, call.arg(1),
                call.Bool(2) ? 1 : 0, call.Bool(3));
}

// (self, dim, *, correction, keepdim); no correction is 1.
template <const LineFunctions& kFunctions, bool kWithMean>
bool CorrectedSpread(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Spread(b, call, kWithMean, kFunctions, call.arg(1),
                call.is_none(2) ? 1.0 : call.Float(2), call.Bool(3));
}

// --- norms, logsumexp ---

bool VectorNorm(PlanBuilder& b, KernelCall& call, const Tensor& x,
                double order) {
  LineOperation op = {&kNorm, x, {}, false, order};
  if (!ReadLineDims(call, 2, true, &op.reduced)) return false;
  if (LengthOf(op) == 0 && (order < 0 || std::isinf(order))) {
    return call.Fail("this norm of no elements isn't defined");
  }
  return EmitReduction(b, call, op, call.Bool(3), x.dtype(), false);
}

// linalg_vector_norm(self, ord, dim, keepdim, *, dtype)
bool LinalgVectorNorm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor x = call.tensor(0);
  if (!call.is_none(4) && call.arg(4).dtype() != x.dtype()) {
    x = b.Converted(x, call.arg(4).dtype());
  }
  if (!x.defined() || !IsFloating(x.dtype())) {
    return call.Fail("norms are of floating numbers");
  }
  return VectorNorm(b, call, x, call.Float(1));
}

// norm(self, p, dim, keepdim); no p is 2.
bool Norm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return VectorNorm(b, call, call.tensor(0),
                    call.is_none(1) ? 2.0 : call.Float(1));
}

bool LogSumExp(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  if (call.arg(1).is_list() && call.arg(1).list().empty()) {
    return call.Fail("logsumexp needs a dimension");
  }
  const DType dtype = IntToFloat(self.dtype());
  LineOperation op = {
      &kLogSumExp, self.dtype() == dtype ? self : b.Converted(self, dtype), {}};
  if (!op.x.defined()) return call.Fail("cannot convert " + self.ToString());
  return ReadLineDims(call, 1, false, &op.reduced) &&
         EmitReduction(b, call, op, call.Bool(2), dtype, false);
}

constexpr Lowering Op(std::string_view name, LowerFn lower,
                      DTypeRule rule = DTypeRule::kHeld) {
  return {name, LoweringKind::kPure, lower, rule};
}
constexpr DTypeRule kFloating = DTypeRule::kFloating;

constexpr Lowering kLowerings[] = {
    Op("aten.prod.default", Accumulate<kProduct>),
    Op("aten.prod.dim_int", Accumulate<kProduct>),
    Op("aten.nansum.default", Accumulate<kNanSum>),
    Op("aten.count_nonzero.default", CountNonzero),
    Op("aten.count_nonzero.dim_IntList", CountNonzero),
    Op("aten.var.default", SpreadOfAll<kVariance, false>, kFloating),
    Op("aten.var.dim", SpreadByDim<kVariance, false>, kFloating),
    Op("aten.var.correction", CorrectedSpread<kVariance, false>, kFloating),
    Op("aten.std.default", SpreadOfAll<kDeviation, false>, kFloating),
    Op("aten.std.dim", SpreadByDim<kDeviation, false>, kFloating),
    Op("aten.std.correction", CorrectedSpread<kDeviation, false>, kFloating),
    Op("aten.var_mean.default", SpreadOfAll<kVariance, true>, kFloating),
    Op("aten.var_mean.dim", SpreadByDim<kVariance, true>, kFloating),
    Op("aten.var_mean.correction", CorrectedSpread<kVariance, true>, kFloating),
    Op("aten.std_mean.default", SpreadOfAll<kDeviation, true>, kFloating),
    Op("aten.std_mean.dim", SpreadByDim<kDeviation, true>, kFloating),
    Op("aten.std_mean.correction", CorrectedSpread<kDeviation, true>,
       kFloating),
    Op("aten.linalg_vector_norm.default", LinalgVectorNorm, kFloating),
    Op("aten.norm.ScalarOpt_dim", Norm, kFloating),
    Op("aten.logsumexp.default", LogSumExp),
};

}  // namespace

std::span<const Lowering> StatisticsLowerings() { return kLowerings; }

}  // namespace tenon::cpu
