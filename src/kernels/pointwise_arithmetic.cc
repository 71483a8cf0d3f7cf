// add, sub, mul, div, pow, remainder, and what combines them.
#include <cmath>

#include "kernels/arithmetic.h"
#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/elementwise.h"
#include "kernels/pointwise.h"

namespace tenon {
namespace {

constexpr auto kMul = [](auto a, auto b) { return Mul(a, b); };
constexpr auto kDiv = [](auto a, auto b) { return a / b; };
constexpr auto kAtan2 = [](auto y, auto x) { return std::atan2(y, x); };
constexpr auto kHypot = [](auto a, auto b) { return std::hypot(a, b); };
constexpr auto kPow = [](auto a, auto b) { return Pow(a, b); };
constexpr auto kCopysign = [](auto a, auto b) { return std::copysign(a, b); };

// --- add, sub, rsub ---

bool CheckAlpha(KernelCall& call, DType dtype, const RuntimeValue& alpha) {
  const bool fractional = alpha.is_float() || alpha.is_complex();
  if (alpha.is_bool() && dtype != DType::kBool) {
    return call.Fail("a bool alpha is for bool operands only");
  }
  if (fractional && !IsFloating(dtype) && !IsComplex(dtype)) {
    return call.Fail("integer operands take an integer alpha");
  }
  if (alpha.is_complex() && !IsComplex(dtype)) {
    return call.Fail("real operands take a real alpha");
  }
  return CheckFits(call, alpha, dtype);
}

// a + sign * alpha * b, alpha rounded to the operands' dtype.
bool AddScaled(KernelCall& call, const Operand& a, const Operand& b,
               const RuntimeValue& alpha, int sign, unsigned flags) {
  ElementwisePlan plan;
  if (!PlanElementwise(call, {a, b}, flags, &plan) ||
      !CheckAlpha(call, plan.common, alpha)) {
    return false;
  }
  const Tensor rounded = ScalarTensor(alpha, plan.common);
  DispatchCompute(plan.common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    C factor = ReadOne<C>(rounded);
    if (sign < 0) factor = Sub(C(0), factor);
    // A product with 1 matters to complex infinities only: it makes nan.
    const bool plain = !kIsComplex<C> && factor == C(1);
    internal::RunTyped<C>(
        &plan, [=](C x, C y) { return Add(x, plain ? y : Mul(factor, y)); },
        std::make_index_sequence<2>());
  });
  call.Return(plan.out);
  return true;
}

bool AddKernel(KernelCall& call) {
  return AddScaled(call, OperandOf(call, 0), OperandOf(call, 1), call.Scalar(2),
                   1, kAnyDType);
}

bool RefuseBool(KernelCall& call) {
  for (size_t i = 0; i < 2; ++i) {
    const Operand operand = OperandOf(call, i);
    if (operand.tensor.dtype() == DType::kBool) {
      return call.Fail("subtraction isn't defined for bool");
    }
  }
  return true;
}

bool SubKernel(KernelCall& call) {
  return RefuseBool(call) &&
         AddScaled(call, OperandOf(call, 0), OperandOf(call, 1), call.Scalar(2),
                   -1, kNoBool);
}

bool RsubKernel(KernelCall& call) {
  return RefuseBool(call) &&
         AddScaled(call, OperandOf(call, 1), OperandOf(call, 0), call.Scalar(2),
                   -1, kNoBool);
}

// --- division ---

bool HasZero(const Tensor& tensor) {
  for (const int64_t value : ReadAll<int64_t>(tensor)) {
    if (value == 0) return true;
  }
  return false;
}

// Plans an operation whose integer form fails on a divisor of 0.
template <unsigned kFlags>
bool PlanDivision(KernelCall& call, ElementwisePlan* plan) {
  if (!PlanElementwise(call, {OperandOf(call, 0), OperandOf(call, 1)}, kFlags,
                       plan)) {
    return false;
  }
  const bool integers = !IsFloating(plan->common) && !IsComplex(plan->common);
  if (integers && plan->out.numel() > 0 && HasZero(plan->inputs[1])) {
    return call.Fail("integer division by zero");
  }
  return true;
}

template <const auto& kFunction, unsigned kFlags>
bool Division(KernelCall& call) {
  ElementwisePlan plan;
  if (!PlanDivision<kFlags>(call, &plan)) return false;
  RunElementwise<kFlags, 2>(&plan, kFunction);
  call.Return(plan.out);
  return true;
}

constexpr auto kDivFloor = [](auto a, auto b) { return DivFloor(a, b); };
constexpr auto kRemainder = [](auto a, auto b) { return Remainder(a, b); };
constexpr auto kFmod = [](auto a, auto b) { return Fmod(a, b); };

constexpr unsigned kDivFlags = kIntToFloat | kExactNumbers;
constexpr auto kTrueDivide = Elementwise<kDiv, 2, kDivFlags>;
constexpr auto kFloorDivide = Division<kDivFloor, kNoComplex>;

// float16 and bfloat16 round the quotient before they cut it.
bool TruncDivide(KernelCall& call) {
  ElementwisePlan plan;
  if (!PlanDivision<kNoComplex>(call, &plan)) return false;
  const DType common = plan.common;
  RunElementwise<kNoComplex, 2>(&plan, [common](auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), float>) {
      if (common == DType::kFloat16) {
        return std::trunc(static_cast<float>(Float16(a / b)));
      }
      if (common == DType::kBFloat16) {
        return std::trunc(static_cast<float>(BFloat16(a / b)));
      }
    }
    return DivTrunc(a, b);
  });
  call.Return(plan.out);
  return true;
}

bool DivideKernel(KernelCall& call) {
  if (call.is_none(2)) return kTrueDivide(call);
  const std::string& mode = call.arg(2).string();
  if (mode == "floor") return kFloorDivide(call);
  if (mode == "trunc") return TruncDivide(call);
  return call.Fail("no rounding mode '" + mode + "'");
}

// --- powers ---

bool IsNegative(const RuntimeValue& exponent) {
  return (exponent.is_int() && exponent.int_value() < 0) ||
         (exponent.is_float() && exponent.float_value() < 0);
}

// The exponents that PyTorch computes by other operations.
template <typename T>
T PowSpecial(T x, double exponent) {
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  if (exponent == -2) return T(1) / (x * x);
  if (exponent == 0.5) return std::sqrt(x);
  if (exponent == -0.5) return T(1) / std::sqrt(x);
  return T(1) / x;
}

bool IsSpecialExponent(const RuntimeValue& exponent) {
  if (exponent.is_complex() || exponent.is_bool()) return false;
  const double e = ScalarAs<double>(exponent);
  return e == 2 || e == 3 || e == -2 || e == 0.5 || e == -0.5 || e == -1;
}

bool PowTensorScalar(KernelCall& call) {
  const Operand base = OperandOf(call, 0), exponent = OperandOf(call, 1);
  const RuntimeValue number = call.Scalar(1);
  const DType common = ResultType(std::vector<Operand>{base, exponent});
  const bool integers = !IsFloating(common) && !IsComplex(common);
  if (integers && IsNegative(number)) {
    return call.Fail("integers to negative integer powers aren't allowed");
  }
  ElementwisePlan plan;
  if (!PlanElementwise(call, {base, exponent}, kNumbersDontShape, &plan)) {
    return false;
  }
  if (integers && !CheckFits(call, number, plan.common)) return false;
  if (!integers && IsSpecialExponent(number)) {
    const double e = ScalarAs<double>(number);
    RunElementwise<kIntToFloat, 2>(
        &plan, [e](auto x, auto) { return PowSpecial(x, e); });
  } else {
    RunElementwise<kAnyDType, 2>(&plan, kPow);
  }
  call.Return(plan.out);
  return true;
}

// Computed in float64, or complex128.
bool FloatPower(KernelCall& call) {
  const Operand base = OperandOf(call, 0), exponent = OperandOf(call, 1);
  ElementwiseTraits traits(kNumbersDontShape);
  traits.common =
      IsComplex(base.tensor.dtype()) || IsComplex(exponent.tensor.dtype())
          ? DType::kComplex128
          : DType::kFloat64;
  ElementwisePlan plan;
  if (!PlanElementwise(call, {base, exponent}, traits, &plan)) return false;
  RunElementwise<kAnyDType, 2>(&plan, kPow);
  call.Return(plan.out);
  return true;
}

bool Square(KernelCall& call) {
  return ForwardTo(call, "aten.pow.Tensor_Scalar", {call.arg(0), int64_t{2}});
}

bool Ldexp(KernelCall& call) {
  const DType self = call.tensor(0).dtype();
  Tensor power;
  if (!CallKernel(call, "aten.pow.Scalar", {2.0, call.arg(1)}, &power)) {
    return false;
  }
  // An integer exponent doesn't widen the significand's dtype.
  const bool integer_power =
      !IsFloating(call.tensor(1).dtype()) && !IsComplex(call.tensor(1).dtype());
  if (integer_power && IsFloating(self)) power = Cast(power, self);
  return power.defined() &&
         ForwardTo(call, "aten.mul.Tensor", {call.arg(0), power});
}

// --- three operands ---

bool AddcKernel(KernelCall& call, bool divide) {
  const std::vector<Operand> operands = {OperandOf(call, 0), OperandOf(call, 1),
                                         OperandOf(call, 2)};
  const auto is_integer = [](const Operand& o) {
    return !IsFloating(o.tensor.dtype()) && !IsComplex(o.tensor.dtype());
  };
  if (divide && is_integer(operands[1]) && is_integer(operands[2])) {
    return call.Fail("addcdiv isn't defined for integers");
  }
  ElementwisePlan plan;
  if (!PlanElementwise(call, operands, kAnyDType, &plan)) return false;
  const RuntimeValue value = call.Scalar(3);
  if (!CanCast(ScalarDType(value), plan.common)) {
    return call.Fail("value doesn't fit " + std::string(Name(plan.common)));
  }
  if (divide) {
    RunElementwise<kIntToFloat, 3>(&plan, [&](auto x, auto a, auto b) {
      return x + Mul(ScalarAs<decltype(x)>(value), a) / b;
    });
  } else {
    RunElementwise<kAnyDType, 3>(&plan, [&](auto x, auto a, auto b) {
      return Add(x, Mul(Mul(ScalarAs<decltype(x)>(value), a), b));
    });
  }
  call.Return(plan.out);
  return true;
}

bool Addcmul(KernelCall& call) { return AddcKernel(call, false); }
bool Addcdiv(KernelCall& call) { return AddcKernel(call, true); }

constexpr auto kLerp = [](auto a, auto b, auto weight) {
  using T = decltype(a);
  // From the nearer end, so that both are exact.
  const bool near = std::abs(weight) < 0.5f;
  if constexpr (kIsReal<T>) {
    return near ? std::fma(weight, b - a, a)
                : std::fma(weight - T(1), b - a, b);
  } else {
    return near ? a + weight * (b - a) : b - (b - a) * (T(1) - weight);
  }
};

bool Lerp(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (call.tensor(1).dtype() != self.dtype()) {
    return call.Fail("expected the dtype " + std::string(Name(self.dtype())) +
                     " for 'end', found " +
                     std::string(Name(call.tensor(1).dtype())));
  }
  const Operand weight = OperandOf(call, 2);
  if (!weight.is_number && weight.tensor.dtype() != self.dtype() &&
      weight.tensor.dim() > 0) {
    return call.Fail("expected the dtype " + std::string(Name(self.dtype())) +
                     " for 'weight', found " +
                     std::string(Name(weight.tensor.dtype())));
  }
  ElementwiseTraits traits(kNoBool | kNoInteger | kExactNumbers);
  traits.common = self.dtype();
  ElementwisePlan plan;
  if (!PlanElementwise(call, {OperandOf(call, 0), OperandOf(call, 1), weight},
                       traits, &plan)) {
    return false;
  }
  RunElementwise<kNoBool | kNoInteger, 3>(&plan, kLerp);
  call.Return(plan.out);
  return true;
}

constexpr unsigned kReals = kIntToFloat | kNoComplex;

constexpr KernelEntry kEntries[] = {
    {"aten.add.Tensor", AddKernel},
    {"aten.add.Scalar", AddKernel},
    {"aten.sub.Tensor", SubKernel},
    {"aten.sub.Scalar", SubKernel},
    {"aten.subtract.Tensor", SubKernel},
    {"aten.rsub.Tensor", RsubKernel},
    {"aten.rsub.Scalar", RsubKernel},
    {"aten.mul.Tensor", Elementwise<kMul, 2, kExactNumbers>},
    {"aten.mul.Scalar", Elementwise<kMul, 2, kExactNumbers>},
    {"aten.multiply.Tensor", Elementwise<kMul, 2, kExactNumbers>},
    {"aten.div.Tensor", kTrueDivide},
    {"aten.div.Scalar", kTrueDivide},
    {"aten.divide.Tensor", kTrueDivide},
    {"aten.true_divide.Tensor", kTrueDivide},
    {"aten.div.Tensor_mode", DivideKernel},
    {"aten.div.Scalar_mode", DivideKernel},
    {"aten.floor_divide.default", kFloorDivide},
    {"aten.floor_divide.Scalar", kFloorDivide},
    {"aten.remainder.Tensor", Division<kRemainder, kNoComplex | kNoBool>},
    {"aten.remainder.Scalar", Division<kRemainder, kNoComplex | kNoBool>},
    {"aten.remainder.Scalar_Tensor",
     Division<kRemainder, kNoComplex | kNoBool>},
    {"aten.fmod.Tensor", Division<kFmod, kNoComplex | kNoBool>},
    {"aten.fmod.Scalar", Division<kFmod, kNoComplex | kNoBool>},
    {"aten.pow.Tensor_Tensor", Elementwise<kPow, 2, kNoBool>},
    {"aten.pow.Scalar", Elementwise<kPow, 2, kNoBool | kNumbersDontShape>},
    {"aten.pow.Tensor_Scalar", PowTensorScalar},
    {"aten.float_power.Tensor_Tensor", FloatPower},
    {"aten.float_power.Tensor_Scalar", FloatPower},
    {"aten.float_power.Scalar", FloatPower},
    {"aten.square.default", Square},
    {"aten.ldexp.Tensor", Ldexp},
    {"aten.atan2.default", Elementwise<kAtan2, 2, kReals>},
    {"aten.arctan2.default", Elementwise<kAtan2, 2, kReals>},
    {"aten.hypot.default", Elementwise<kHypot, 2, kFloatsOnly>},
    {"aten.copysign.Tensor", Elementwise<kCopysign, 2, kReals>},
    {"aten.copysign.Scalar", Elementwise<kCopysign, 2, kReals>},
    {"aten.addcmul.default", Addcmul},
    {"aten.addcdiv.default", Addcdiv},
    {"aten.lerp.Scalar", Lerp},
    {"aten.lerp.Tensor", Lerp},
};

}  // namespace

std::span<const KernelEntry> ArithmeticKernels() { return kEntries; }

}  // namespace tenon
