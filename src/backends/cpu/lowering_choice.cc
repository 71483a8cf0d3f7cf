// Operators that choose between values: clamp, where, masked_fill, extrema of
// two operands, replacements of what isn't finite.
#include <cmath>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering_elementwise.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// A number outside the range of an integer dtype bounds nothing, or is an
// error where it would leave no value.
bool NarrowBound(KernelCall& call, DType dtype, bool is_low,
                 std::optional<Operand>* bound) {
  if (!*bound || !(*bound)->is_number) return true;
  const RuntimeValue number = ElementOf((*bound)->tensor);
  if (!IsIntegral(dtype)) return CheckFits(call, number, dtype);
  const int bits = static_cast<int>(SizeBytes(dtype)) * 8;
  if (bits == 64) return true;
  const bool is_signed = IsSigned(dtype);
  const double largest = std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1;
  const double smallest = is_signed ? -largest - 1 : 0;
  const double value =
      ElementOf(ConstantOf(number, DType::kFloat64)).float_value();
  if (is_low ? value > largest : value < smallest) {
    return call.Fail("a bound outside the range of " +
                     std::string(Name(dtype)));
  }
  if (is_low ? value < smallest : value > largest) bound->reset();
  return true;
}

// max(x, low) first, so that low > high gives high.
bool ClampTo(PlanBuilder& b, KernelCall& call, std::optional<Operand> low,
             std::optional<Operand> high) {
  std::vector<Operand> operands = {OperandOf(call, 0)};
  for (const auto* bound : {&low, &high}) {
    if (*bound) operands.push_back(**bound);
  }
  if (operands.size() == 1) return call.Fail("clamp needs a bound");
  DType common;
  if (!CommonType(call, operands, TileOp::kMax, &common) ||
      !NarrowBound(call, common, true, &low) ||
      !NarrowBound(call, common, false, &high)) {
    return false;
  }
  // Numbers have no say in the result's strides.
  std::vector<Tensor> tensors;
  for (const Operand& o : operands) {
    if (!o.is_number) tensors.push_back(o.tensor);
  }
  Tensor out;
  if (!NewResult(b, call, common, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  TileValue x = e.LoadAs(operands[0].tensor, common);
  if (low) x = e.Apply(TileOp::kMax, {x, e.LoadAs(low->tensor, common)});
  if (high) x = e.Apply(TileOp::kMin, {x, e.LoadAs(high->tensor, common)});
  if (!low && !high) x = e.Apply(TileOp::kCopy, {x});
  call.Return(out);
  return EmitOr(call, e, x);
}

std::optional<Operand> BoundAt(const KernelCall& call, size_t i) {
  if (i >= call.num_args() || call.is_none(i)) return std::nullopt;
  return OperandOf(call, i);
}

bool Clamp(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ClampTo(b, call, BoundAt(call, 1), BoundAt(call, 2));
}
bool ClampMin(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ClampTo(b, call, BoundAt(call, 1), std::nullopt);
}
bool ClampMax(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ClampTo(b, call, std::nullopt, BoundAt(call, 1));
}

bool Where(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Operand condition = OperandOf(call, 0);
  const Operand choices[] = {OperandOf(call, 1), OperandOf(call, 2)};
  const Tensor tensors[] = {condition.tensor, choices[0].tensor,
                            choices[1].tensor};
  DType common;
  Tensor out;
  if (!CommonType(call, choices, TileOp::kWhere, &common) ||
      !NewResult(b, call, common, tensors, &out)) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  const TileValue c = e.LoadAs(tensors[0], DType::kBool);
  const TileValue x = e.LoadAs(tensors[1], common);
  const TileValue y = e.LoadAs(tensors[2], common);
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kWhere, {c, x, y}));
}

// The value is cast to the tensor's dtype.
bool MaskedFill(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor self = call.tensor(0), mask = call.tensor(1);
  const Tensor value = OperandOf(call, 2).tensor;
  if (mask.dtype() != DType::kBool) return call.Fail("the mask isn't bool");
  if (value.numel() != 1) return call.Fail("the value isn't one element");
  const Tensor shapes[] = {self, mask};
  Sizes sizes;
  if (!BroadcastSizes(shapes, &sizes)) {
    return call.Fail("sizes " + ToText(self.sizes()) + " and " +
                     ToText(mask.sizes()) + " don't broadcast");
  }
  const Tensor out = b.NewTensor(self.dtype(), sizes);
  if (!out.defined()) return call.Fail("the result is too large");
  const Tensor operands[] = {self};
  PointwiseBuilder e(&b, out, operands);
  const TileValue m = e.Load(mask);
  const TileValue v =
      e.LoadAs(value.View({}, {}, value.offset()), self.dtype());
  const TileValue x = e.Load(self);
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kWhere, {m, v, x}));
}

// Replacements default to 0 and the dtype's extremes.
bool NanToNum(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor tensors[] = {call.tensor(0)};
  const DType dtype = tensors[0].dtype();
  Tensor out;
  if (!NewResult(b, call, dtype, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.Load(tensors[0]);
  call.Return(out);
  if (!IsFloating(dtype)) return EmitOr(call, e, e.Apply(TileOp::kCopy, {x}));
  const double largest = dtype == DType::kFloat16    ? 65504.0
                         : dtype == DType::kBFloat16 ? 0x1.fep127
                         : dtype == DType::kFloat32  ? 0x1.fffffep127
                                                     : 0x1.fffffffffffffp1023;
  const auto number = [&](size_t i, double otherwise) {
    const double value = call.is_none(i) ? otherwise : call.Float(i);
    return e.Load(ConstantOf(value, dtype));
  };
  const auto test = [&](TileOp op, std::initializer_list<TileValue> operands) {
    return e.ApplyTo(DType::kBool, op, operands);
  };
  const TileValue nan = number(1, 0), high = number(2, largest);
  const TileValue low = number(3, -largest);
  const TileValue zero = e.Load(ConstantOf(0.0, dtype));
  const TileValue extreme =
      e.Apply(TileOp::kWhere, {test(TileOp::kGt, {x, zero}), high, low});
  const TileValue finite =
      e.Apply(TileOp::kWhere, {test(TileOp::kIsInf, {x}), extreme, x});
  return EmitOr(
      call, e,
      e.Apply(TileOp::kWhere, {test(TileOp::kIsNan, {x}), nan, finite}));
}

std::optional<Refusal> RefuseByteMask(const Program& program, NodeId node) {
  const Arg* mask = program.FindArg(node, "mask");
  if (mask != nullptr && mask->is_value()) {
    const Type& type = program.type(mask->value());
    if (type.is_tensor() && type.dtype != DType::kBool) {
      return Refusal{RefusalReason::kDtype,
                     "a mask of " + std::string(Name(type.dtype))};
    }
  }
  return std::nullopt;
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kHeld = DTypeRule::kHeld;
constexpr DTypeRule kNumbers = DTypeRule::kNumbers;

constexpr Lowering kLowerings[] = {
    BinaryOperator("aten.maximum.default", TileOp::kMax),
    BinaryOperator("aten.minimum.default", TileOp::kMin),
    BinaryOperator("aten.max.other", TileOp::kMax),
    BinaryOperator("aten.min.other", TileOp::kMin),
    BinaryOperator("prims.maximum.default", TileOp::kMax),
    BinaryOperator("prims.minimum.default", TileOp::kMin),
    BinaryOperator("aten.fmax.default", TileOp::kFmax, DTypeRule::kFloating),
    BinaryOperator("aten.fmin.default", TileOp::kFmin, DTypeRule::kFloating),
    BinaryOperator("prims.fmax.default", TileOp::kFmax, DTypeRule::kFloating),
    BinaryOperator("prims.fmin.default", TileOp::kFmin, DTypeRule::kFloating),
    {"aten.clamp.default", kPure, Clamp, kNumbers},
    {"aten.clamp.Tensor", kPure, Clamp, kNumbers},
    {"aten.clip.default", kPure, Clamp, kNumbers},
    {"aten.clip.Tensor", kPure, Clamp, kNumbers},
    {"aten.clamp_min.default", kPure, ClampMin, kNumbers},
    {"aten.clamp_min.Tensor", kPure, ClampMin, kNumbers},
    {"aten.clamp_max.default", kPure, ClampMax, kNumbers},
    {"aten.clamp_max.Tensor", kPure, ClampMax, kNumbers},
    {"aten.where.self", kPure, Where},
    {"aten.where.ScalarOther", kPure, Where},
    {"aten.where.ScalarSelf", kPure, Where},
    {"aten.where.Scalar", kPure, Where},
    {"aten.nan_to_num.default", kPure, NanToNum},
    {"aten.masked_fill.Scalar", kPure, MaskedFill, kHeld, TileOp::kCopy,
     RefuseByteMask},
    {"aten.masked_fill.Tensor", kPure, MaskedFill, kHeld, TileOp::kCopy,
     RefuseByteMask},
};

}  // namespace

std::span<const Lowering> ChoiceLowerings() { return kLowerings; }

}  // namespace tenon::cpu
