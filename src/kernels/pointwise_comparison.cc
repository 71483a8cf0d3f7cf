// Comparisons, logic, extrema of two operands, clamp and where.
#include <cmath>

#include "kernels/arithmetic.h"
#include "kernels/broadcast.h"
#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/elementwise.h"
#include "kernels/pointwise.h"

namespace tenon {
namespace {

constexpr auto kEq = [](auto a, auto b) { return a == b; };
constexpr auto kNe = [](auto a, auto b) { return a != b; };
constexpr auto kLt = [](auto a, auto b) { return a < b; };
constexpr auto kLe = [](auto a, auto b) { return a <= b; };
constexpr auto kGt = [](auto a, auto b) { return a > b; };
constexpr auto kGe = [](auto a, auto b) { return a >= b; };

template <typename T>
constexpr bool Truth(T value) {
  return value != T(0);
}
constexpr auto kLogicalAnd = [](auto a, auto b) {
  return Truth(a) && Truth(b);
};
constexpr auto kLogicalOr = [](auto a, auto b) { return Truth(a) || Truth(b); };
constexpr auto kLogicalXor = [](auto a, auto b) {
  return Truth(a) != Truth(b);
};
constexpr auto kLogicalNot = [](auto a) { return !Truth(a); };

constexpr auto kMaximum = [](auto a, auto b) { return Maximum(a, b); };
constexpr auto kMinimum = [](auto a, auto b) { return Minimum(a, b); };
constexpr auto kFmax = [](auto a, auto b) {
  return IsNan(a) ? b : IsNan(b) ? a : Maximum(a, b);
};
constexpr auto kFmin = [](auto a, auto b) {
  return IsNan(a) ? b : IsNan(b) ? a : Minimum(a, b);
};
constexpr auto kHeaviside = [](auto x, auto at_zero) {
  using T = decltype(x);
  return x == T(0) ? at_zero : static_cast<T>(x > T(0));
};

// Logic takes any two dtypes: what each element is converted to doesn't change
// whether it is zero, except that numbers that don't promote compare as they
// are.
template <const auto& kFunction>
bool Logical(KernelCall& call) {
  Operand a = OperandOf(call, 0), b = OperandOf(call, 1);
  for (Operand* operand : {&a, &b}) {
    operand->tensor = Cast(operand->tensor, DType::kBool);
    if (!operand->tensor.defined()) return call.Fail("no memory");
  }
  ElementwisePlan plan;
  if (!PlanElementwise(call, {a, b}, kBoolResult, &plan)) return false;
  RunElementwise<kBitsOnly, 2>(&plan, kFunction);
  call.Return(plan.out);
  return true;
}

bool SameDTypes(KernelCall& call) {
  if (call.tensor(0).dtype() == call.tensor(1).dtype()) return true;
  return call.Fail("both operands need the same dtype");
}

bool Heaviside(KernelCall& call) {
  return SameDTypes(call) && Elementwise<kHeaviside, 2, kNoComplex>(call);
}

// aten.equal: one bool for the whole tensors.
bool Equal(KernelCall& call) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  if (a.dtype() != b.dtype()) {
    return call.Fail("both operands need the same dtype");
  }
  if (a.sizes() != b.sizes()) {
    call.Return(false);
    return true;
  }
  const bool equal = DispatchCompute(a.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    return ReadAll<C>(a) == ReadAll<C>(b);
  });
  call.Return(equal);
  return true;
}

// A bound: absent, a tensor, or a number.
struct Bound {
  RuntimeValue value;
  bool is_number = false;
};

// A number outside the range of an integer dtype bounds nothing, or is an
// error where it would leave no value.
bool NarrowBound(KernelCall& call, DType dtype, bool is_low, Bound* bound) {
  if (bound->value.is_none() || !bound->is_number) return true;
  const RuntimeValue number = ItemOf(bound->value.tensor());
  if (!IsIntegral(dtype)) return CheckFits(call, number, dtype);
  const int bits = static_cast<int>(SizeBytes(dtype)) * 8;
  if (bits == 64) return true;
  const bool is_signed = IsSigned(dtype);
  const double largest = std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1;
  const double smallest = is_signed ? -largest - 1 : 0;
  const double value = ScalarAs<double>(number);
  if (is_low ? value > largest : value < smallest) {
    return call.Fail("a bound outside the range of " +
                     std::string(Name(dtype)));
  }
  if (is_low ? value < smallest : value > largest) bound->value = {};
  return true;
}

// max(x, low) first, so that low > high gives high; a nan bound wins.
bool ClampTo(KernelCall& call, Bound low, Bound high) {
  std::vector<Operand> operands = {OperandOf(call, 0)};
  for (Bound* bound : {&low, &high}) {
    if (bound->value.is_none()) continue;
    if (!bound->value.is_tensor()) {
      bound->value = ScalarTensor(bound->value);
      bound->is_number = true;
    }
    operands.push_back({bound->value.tensor(), bound->is_number});
  }
  if (operands.size() == 1) return call.Fail("clamp needs a bound");
  ElementwiseTraits traits(kNoComplex | kNumbersDontShape);
  traits.common = ResultType(operands);
  if (!NarrowBound(call, traits.common, true, &low) ||
      !NarrowBound(call, traits.common, false, &high)) {
    return false;
  }
  operands.resize(1);
  for (const Bound* bound : {&low, &high}) {
    if (bound->value.is_none()) continue;
    operands.push_back({bound->value.tensor(), bound->is_number});
  }
  ElementwisePlan plan;
  if (!PlanElementwise(call, operands, traits, &plan)) return false;
  const auto raise = [](auto x, auto bound) {
    return IsNan(x) ? x : Maximum(x, bound);
  };
  const auto lower = [](auto x, auto bound) {
    return IsNan(x) ? x : Minimum(x, bound);
  };
  if (operands.size() == 1) {
    RunElementwise<kNoComplex, 1>(&plan, [](auto x) { return x; });
  } else if (high.value.is_none()) {
    RunElementwise<kNoComplex, 2>(&plan, raise);
  } else if (low.value.is_none()) {
    RunElementwise<kNoComplex, 2>(&plan, lower);
  } else {
    RunElementwise<kNoComplex, 3>(
        &plan, [&](auto x, auto l, auto h) { return lower(raise(x, l), h); });
  }
  call.Return(plan.out);
  return true;
}

bool Clamp(KernelCall& call) {
  return ClampTo(call, {call.arg(1), call.is_number(1)},
                 {call.arg(2), call.is_number(2)});
}
bool ClampMin(KernelCall& call) {
  return ClampTo(call, {call.arg(1), call.is_number(1)}, {});
}
bool ClampMax(KernelCall& call) {
  return ClampTo(call, {}, {call.arg(1), call.is_number(1)});
}

// --- where ---

bool Where(KernelCall& call) {
  const Tensor& condition = call.tensor(0);
  if (condition.dtype() != DType::kBool && condition.dtype() != DType::kUInt8) {
    return call.Fail("the condition is bool, not " +
                     std::string(Name(condition.dtype())));
  }
  const Operand a = OperandOf(call, 1), b = OperandOf(call, 2);
  ElementwiseTraits traits(kAnyDType);
  traits.common = ResultType(std::vector<Operand>{a, b});
  for (const Operand* operand : {&a, &b}) {
    if (operand->is_number &&
        !CheckFits(call, ItemOf(operand->tensor), traits.common)) {
      return false;
    }
  }
  // The condition is planned like an operand and cast; 0 and 1 survive casts.
  const Tensor truth = Cast(condition, DType::kBool);
  if (!truth.defined()) return call.Fail("no memory");
  ElementwisePlan plan;
  if (!PlanElementwise(call, {{truth, false}, a, b}, traits, &plan)) {
    return false;
  }
  RunElementwise<kAnyDType, 3>(
      &plan, [](auto c, auto x, auto y) { return Truth(c) ? x : y; });
  call.Return(plan.out);
  return true;
}

// --- classification ---

template <typename T>
bool IsInf(T value) {
  if constexpr (kIsComplex<T>) {
    return std::isinf(value.real()) || std::isinf(value.imag());
  } else if constexpr (kIsReal<T>) {
    return std::isinf(value);
  } else {
    return false;
  }
}
constexpr auto kIsNanOf = [](auto x) { return IsNan(x); };
constexpr auto kIsInf = [](auto x) { return IsInf(x); };
constexpr auto kIsFinite = [](auto x) { return !IsInf(x) && !IsNan(x); };
constexpr auto kIsPosInf = [](auto x) { return IsInf(x) && x > 0; };
constexpr auto kIsNegInf = [](auto x) { return IsInf(x) && x < 0; };
constexpr auto kSignbit = [](auto x) {
  if constexpr (kIsReal<decltype(x)>) {
    return std::signbit(x);
  } else {
    return x < decltype(x)(0);
  }
};

bool IsReal(KernelCall& call) {
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0)}, kBoolResult, &plan)) {
    return false;
  }
  RunElementwise<kAnyDType, 1>(&plan, [](auto x) {
    if constexpr (kIsComplex<decltype(x)>) {
      return x.imag() == 0;
    } else {
      return true;
    }
  });
  call.Return(plan.out);
  return true;
}

// |a - b| <= atol + rtol * |b|, or equal; nan only on request.
bool IsClose(KernelCall& call) {
  if (!SameDTypes(call)) return false;
  const double rtol = call.Float(2), atol = call.Float(3);
  const bool equal_nan = call.Bool(4);
  if (rtol < 0 || atol < 0) return call.Fail("a tolerance is negative");
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0), OperandOf(call, 1)},
                       kBoolResult, &plan)) {
    return false;
  }
  RunElementwise<kAnyDType, 2>(&plan, [=](auto a, auto b) {
    using T = decltype(a);
    if (a == b) return true;
    if (IsNan(a) || IsNan(b)) return equal_nan && IsNan(a) && IsNan(b);
    if constexpr (kIsInteger<T>) {
      const double x = static_cast<double>(a), y = static_cast<double>(b);
      return std::abs(x - y) <= atol + rtol * std::abs(y);
    } else {
      const double distance = static_cast<double>(std::abs(a - b));
      return std::isfinite(distance) &&
             distance <= atol + rtol * static_cast<double>(std::abs(b));
    }
  });
  call.Return(plan.out);
  return true;
}

bool AllClose(KernelCall& call) {
  Tensor close;
  if (!CallKernel(
          call, "aten.isclose.default",
          {call.arg(0), call.arg(1), call.arg(2), call.arg(3), call.arg(4)},
          &close)) {
    return false;
  }
  bool all = true;
  for (const int64_t c : ReadAll<int64_t>(close)) all = all && c != 0;
  call.Return(all);
  return true;
}

template <const auto& kFunction>
constexpr Kernel kCompare = Elementwise<kFunction, 2, kBoolResult>;
template <const auto& kFunction>
constexpr Kernel kOrder = Elementwise<kFunction, 2, kBoolResult | kNoComplex>;
template <const auto& kFunction>
constexpr Kernel kExtremum = Elementwise<kFunction, 2, kNoComplex>;
template <const auto& kFunction>
constexpr Kernel kClassify = Elementwise<kFunction, 1, kBoolResult>;

constexpr KernelEntry kEntries[] = {
    {"aten.eq.Tensor", kCompare<kEq>},
    {"aten.eq.Scalar", kCompare<kEq>},
    {"aten.ne.Tensor", kCompare<kNe>},
    {"aten.ne.Scalar", kCompare<kNe>},
    {"aten.not_equal.Tensor", kCompare<kNe>},
    {"aten.not_equal.Scalar", kCompare<kNe>},
    {"aten.lt.Tensor", kOrder<kLt>},
    {"aten.lt.Scalar", kOrder<kLt>},
    {"aten.less.Tensor", kOrder<kLt>},
    {"aten.less.Scalar", kOrder<kLt>},
    {"aten.le.Tensor", kOrder<kLe>},
    {"aten.le.Scalar", kOrder<kLe>},
    {"aten.less_equal.Tensor", kOrder<kLe>},
    {"aten.less_equal.Scalar", kOrder<kLe>},
    {"aten.gt.Tensor", kOrder<kGt>},
    {"aten.gt.Scalar", kOrder<kGt>},
    {"aten.greater.Tensor", kOrder<kGt>},
    {"aten.greater.Scalar", kOrder<kGt>},
    {"aten.ge.Tensor", kOrder<kGe>},
    {"aten.ge.Scalar", kOrder<kGe>},
    {"aten.greater_equal.Tensor", kOrder<kGe>},
    {"aten.greater_equal.Scalar", kOrder<kGe>},
    {"aten.logical_and.default", Logical<kLogicalAnd>},
    {"aten.logical_or.default", Logical<kLogicalOr>},
    {"aten.logical_xor.default", Logical<kLogicalXor>},
    {"aten.logical_not.default", kClassify<kLogicalNot>},
    {"aten.equal.default", Equal},
    {"aten.maximum.default", kExtremum<kMaximum>},
    {"aten.max.other", kExtremum<kMaximum>},
    {"aten.minimum.default", kExtremum<kMinimum>},
    {"aten.min.other", kExtremum<kMinimum>},
    {"aten.fmax.default", kExtremum<kFmax>},
    {"aten.fmin.default", kExtremum<kFmin>},
    {"prims.maximum.default", kExtremum<kMaximum>},
    {"prims.minimum.default", kExtremum<kMinimum>},
    {"prims.fmax.default", kExtremum<kFmax>},
    {"prims.fmin.default", kExtremum<kFmin>},
    {"aten.heaviside.default", Heaviside},
    {"aten.clamp.default", Clamp},
    {"aten.clamp.Tensor", Clamp},
    {"aten.clip.default", Clamp},
    {"aten.clip.Tensor", Clamp},
    {"aten.clamp_min.default", ClampMin},
    {"aten.clamp_min.Tensor", ClampMin},
    {"aten.clamp_max.default", ClampMax},
    {"aten.clamp_max.Tensor", ClampMax},
    {"aten.where.self", Where},
    {"aten.where.ScalarSelf", Where},
    {"aten.where.ScalarOther", Where},
    {"aten.where.Scalar", Where},
    {"aten.isnan.default", kClassify<kIsNanOf>},
    {"aten.isinf.default", kClassify<kIsInf>},
    {"aten.isfinite.default", kClassify<kIsFinite>},
    {"aten.isreal.default", IsReal},
    {"aten.isposinf.default",
     Elementwise<kIsPosInf, 1, kBoolResult | kNoComplex>},
    {"aten.isneginf.default",
     Elementwise<kIsNegInf, 1, kBoolResult | kNoComplex>},
    {"aten.signbit.default",
     Elementwise<kSignbit, 1, kBoolResult | kNoComplex>},
    {"prims.signbit.default",
     Elementwise<kSignbit, 1, kBoolResult | kNoComplex>},
    {"aten.isclose.default", IsClose},
    {"aten.allclose.default", AllClose},
};

}  // namespace

std::span<const KernelEntry> ComparisonKernels() { return kEntries; }

}  // namespace tenon
