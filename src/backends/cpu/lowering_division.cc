// Quotients that are rounded, remainders, and powers.
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering_elementwise.h"
#include "backends/cpu/narrow_types.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// Fails where an integer of a contiguous tensor is 0.
class CheckDivisorStep : public Step {
 public:
  CheckDivisorStep(Ref at, int64_t count, DType dtype)
      : at_(at), count_(count), dtype_(dtype) {}

  bool Run(Frame& frame) override {
    return !HasZero(frame) || frame.Fail("integer division by zero");
  }
  std::string_view name() const override { return "check_divisor"; }

 private:
  bool HasZero(const Frame& frame) const {
    switch (SizeBytes(dtype_)) {
      case 1:
        return Contains(frame.at<uint8_t>(at_));
      case 4:
        return Contains(frame.at<uint32_t>(at_));
      default:
        return Contains(frame.at<uint64_t>(at_));
    }
  }
  template <typename T>
  bool Contains(const T* values) const {
    bool found = false;
    for (int64_t i = 0; i < count_; ++i) found |= values[i] == 0;
    return found;
  }

  const Ref at_;
  const int64_t count_;
  const DType dtype_;
};

// Of integers; those that are known are checked at once.
bool CheckDivisor(PlanBuilder& b, KernelCall& call, const Tensor& divisor) {
  const Tensor values = b.Contiguous(divisor);
  if (!values.defined()) return call.Fail("cannot copy the divisor");
  auto step = std::make_unique<CheckDivisorStep>(
      b.RefOf(values), values.numel(), values.dtype());
  const Tensor reads[] = {values};
  b.Emit(std::move(step), reads, {});
  return true;
}

// Float16 and bfloat16 round the quotient before they cut it.
TileValue Truncated(PointwiseBuilder& e, TileValue x, TileValue y,
                    DType common) {
  if (!IsFloating(common)) return e.Apply(TileOp::kDivTrunc, {x, y});
  const TileValue quotient = e.Apply(TileOp::kDiv, {x, y});
  if (!IsHalf(common)) return e.Apply(TileOp::kTrunc, {quotient});
  const TileValue wide = e.Cast(quotient, DType::kFloat32);
  return e.Cast(e.Apply(TileOp::kTrunc, {wide}), common);
}

// kDivFloor, kDivTrunc, kFmod or kRemainder.
bool Divide(PlanBuilder& b, KernelCall& call, TileOp op) {
  const Operand operands[] = {OperandOf(call, 0), OperandOf(call, 1)};
  const Tensor tensors[] = {operands[0].tensor, operands[1].tensor};
  const DType common = ResultType(operands);
  if (common == DType::kUnknown || common == DType::kBool) {
    return call.Fail("the operands' dtypes have no such quotient");
  }
  Tensor out;
  if (!NewResult(b, call, common, tensors, &out)) return false;
  // Its own dtype says whether a divisor is 0, as casts between integers are.
  if (!IsFloating(common) && out.numel() > 0 &&
      !CheckDivisor(b, call, tensors[1])) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.LoadAs(tensors[0], common);
  const TileValue y = e.LoadAs(tensors[1], common);
  call.Return(out);
  return EmitOr(call, e,
                op == TileOp::kDivTrunc ? Truncated(e, x, y, common)
                                        : e.Apply(op, {x, y}));
}

bool Remainder(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  return Divide(b, call, self.op);
}

bool DivideMode(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  if (call.is_none(2)) return Binary(b, call, self);
  const std::string& mode = call.arg(2).string();
  if (mode == "floor") return Divide(b, call, TileOp::kDivFloor);
  if (mode == "trunc") return Divide(b, call, TileOp::kDivTrunc);
  return call.Fail("no rounding mode '" + mode + "'");
}

// Numbers that are exponents or bases have no say in the result's strides.
bool PowOf(PlanBuilder& b, KernelCall& call, DType common) {
  const Operand operands[] = {OperandOf(call, 0), OperandOf(call, 1)};
  std::vector<Tensor> tensors;
  for (const Operand& o : operands) {
    if (!o.is_number) tensors.push_back(o.tensor);
  }
  Tensor out;
  if (!NewResult(b, call, common, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.LoadAs(operands[0].tensor, common);
  const TileValue y = e.LoadAs(operands[1].tensor, common);
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kPow, {x, y}));
}

// Integers go by repeated multiplication.
bool Pow(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Operand operands[] = {OperandOf(call, 0), OperandOf(call, 1)};
  const DType common = ResultType(operands);
  if (common == DType::kUnknown || common == DType::kBool) {
    return call.Fail("powers aren't defined for the operands' dtypes");
  }
  return PowOf(b, call, common);
}

// Computed in float64.
bool FloatPower(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return PowOf(b, call, DType::kFloat64);
}

// A few exponents are worth an operation of their own.
bool PowScalar(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Operand operands[] = {OperandOf(call, 0), OperandOf(call, 1)};
  const Tensor tensors[] = {operands[0].tensor};
  const double exponent = call.Float(1);
  DType common;
  Tensor out;
  if (!CommonType(call, operands, TileOp::kMul, &common)) return false;
  if (IsIntegral(common) && exponent != 2) {
    if (exponent < 0) {
      return call.Fail("integers to negative integer powers aren't allowed");
    }
    return CheckFits(call, call.Scalar(1), common) && PowOf(b, call, common);
  }
  if (!NewResult(b, call, common, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.LoadAs(tensors[0], common);
  call.Return(out);
  if (exponent == 1) return EmitOr(call, e, e.Apply(TileOp::kCopy, {x}));
  if (exponent == 2) return EmitOr(call, e, e.Apply(TileOp::kSquare, {x}));
  if (exponent == 3) {
    return EmitOr(call, e,
                  e.Apply(TileOp::kMul, {e.Apply(TileOp::kSquare, {x}), x}));
  }
  if (exponent == 0.5) return EmitOr(call, e, e.Apply(TileOp::kSqrt, {x}));
  if (exponent == -0.5) return EmitOr(call, e, e.Apply(TileOp::kRsqrt, {x}));
  if (exponent == -2) {
    return EmitOr(
        call, e, e.Apply(TileOp::kReciprocal, {e.Apply(TileOp::kSquare, {x})}));
  }
  if (exponent == -1) {
    return EmitOr(call, e, e.Apply(TileOp::kReciprocal, {x}));
  }
  return EmitOr(
      call, e,
      e.Apply(TileOp::kPowScalar, {x}, RoundedNumber(exponent, common)));
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kNumbers = DTypeRule::kNumbers;

constexpr Lowering Rest(std::string_view name, TileOp op) {
  return {name, kPure, Remainder, kNumbers, op};
}

constexpr Lowering kLowerings[] = {
    {"aten.div.Tensor_mode", kPure, DivideMode, kNumbers, TileOp::kDiv},
    {"aten.div.Scalar_mode", kPure, DivideMode, kNumbers, TileOp::kDiv},
    Rest("aten.floor_divide.default", TileOp::kDivFloor),
    Rest("aten.floor_divide.Scalar", TileOp::kDivFloor),
    Rest("aten.remainder.Tensor", TileOp::kRemainder),
    Rest("aten.remainder.Scalar", TileOp::kRemainder),
    Rest("aten.remainder.Scalar_Tensor", TileOp::kRemainder),
    Rest("aten.fmod.Tensor", TileOp::kFmod),
    Rest("aten.fmod.Scalar", TileOp::kFmod),
    {"aten.pow.Tensor_Tensor", kPure, Pow, kNumbers},
    {"aten.pow.Scalar", kPure, Pow, kNumbers},
    {"aten.pow.Tensor_Scalar", kPure, PowScalar, kNumbers},
    {"aten.float_power.Tensor_Tensor", kPure, FloatPower},
    {"aten.float_power.Tensor_Scalar", kPure, FloatPower},
    {"aten.float_power.Scalar", kPure, FloatPower},
};

}  // namespace

std::span<const Lowering> DivisionLowerings() { return kLowerings; }

}  // namespace tenon::cpu
