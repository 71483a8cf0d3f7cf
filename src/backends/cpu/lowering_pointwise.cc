// Elementwise operators: promotion as in the reference kernels, then a tile
// program.
#include <cmath>
#include <limits>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/promotion.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

bool IsComparison(TileOp op) {
  return op == TileOp::kEq || op == TileOp::kNe || op == TileOp::kLt ||
         op == TileOp::kLe || op == TileOp::kGt || op == TileOp::kGe;
}

bool IsTest(TileOp op) { return op == TileOp::kIsNan || op == TileOp::kIsInf; }

// Operations that have no integer form: integers are computed in float32.
bool IsFloatingOp(TileOp op) {
  return op == TileOp::kDiv || op == TileOp::kPow || op == TileOp::kAtan2 ||
         (op >= TileOp::kExp && op <= TileOp::kIsInf);
}

// The result of operands that broadcast, in PyTorch's strides.
bool NewResult(PlanBuilder& b, KernelCall& call, DType dtype,
               std::span<const Tensor> tensors, Tensor* out) {
  Sizes sizes;
  if (!BroadcastSizes(tensors, &sizes)) {
    std::string text;
    for (const Tensor& t : tensors) text += " " + ToText(t.sizes());
    return call.Fail("sizes don't broadcast:" + text);
  }
  *out = b.NewTensor(dtype, sizes, ResultStrides(sizes, tensors));
  return out->defined() || call.Fail("the result is too large");
}

bool EmitOr(KernelCall& call, PointwiseBuilder& e, TileValue value) {
  return e.Emit(value) || call.Fail("no loop for the operands' dtype");
}

bool CommonType(KernelCall& call, std::span<const Operand> operands, TileOp op,
                DType* common) {
  *common = ResultType(operands);
  if (*common == DType::kUnknown) {
    return call.Fail("the operands' dtypes don't promote to a common one");
  }
  if (IsFloatingOp(op)) *common = IntToFloat(*common);
  return true;
}

// A number as half precision has it, where that is what operands are.
double Rounded(double number, DType dtype) {
  if (!IsHalf(dtype)) return number;
  return ElementOf(ConstantOf(number, dtype)).float_value();
}

double AlphaOf(const KernelCall& call, DType common) {
  const int at = call.schema().FindArg("alpha");
  if (at < 0) return 1.0;
  return Rounded(call.Float(static_cast<size_t>(at)), common);
}

// Products and quotients see Python's numbers as they are, sums don't.
TileValue LoadOperand(PointwiseBuilder& e, const Operand& operand, TileOp op,
                      DType common) {
  const bool is_exact = op == TileOp::kMul || op == TileOp::kDiv;
  return is_exact && operand.is_number && IsHalf(common)
             ? e.LoadExact(operand.tensor, common)
             : e.LoadAs(operand.tensor, common);
}

bool Binary(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  const Operand operands[] = {OperandOf(call, 0), OperandOf(call, 1)};
  const Tensor tensors[] = {operands[0].tensor, operands[1].tensor};
  DType common;
  Tensor out;
  if (!CommonType(call, operands, self.op, &common) ||
      !NewResult(b, call, IsComparison(self.op) ? DType::kBool : common,
                 tensors, &out)) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = LoadOperand(e, operands[0], self.op, common);
  const TileValue y = LoadOperand(e, operands[1], self.op, common);
  const double alpha = AlphaOf(call, common);
  TileValue value;
  if (alpha == 1.0) {
    value = e.ApplyTo(out.dtype(), self.op, {x, y});
  } else {
    value = e.Apply(TileOp::kAddScaled, {x, y},
                    self.op == TileOp::kSub ? -alpha : alpha);
  }
  call.Return(out);
  return EmitOr(call, e, value);
}

// rsub: other - alpha * self.
bool ReverseSub(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Operand operands[] = {OperandOf(call, 0), OperandOf(call, 1)};
  const Tensor tensors[] = {operands[0].tensor, operands[1].tensor};
  DType common;
  Tensor out;
  if (!CommonType(call, operands, TileOp::kSub, &common) ||
      !NewResult(b, call, common, tensors, &out)) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.LoadAs(tensors[0], common);
  const TileValue y = e.LoadAs(tensors[1], common);
  const double alpha = AlphaOf(call, common);
  call.Return(out);
  return EmitOr(call, e,
                alpha == 1.0 ? e.Apply(TileOp::kSub, {y, x})
                             : e.Apply(TileOp::kAddScaled, {y, x}, -alpha));
}

// Operands are tested for being true first.
bool Logical(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  std::vector<Tensor> tensors = {call.tensor(0)};
  if (self.op != TileOp::kNot) tensors.push_back(call.tensor(1));
  Tensor out;
  if (!NewResult(b, call, DType::kBool, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.LoadAs(tensors[0], DType::kBool);
  call.Return(out);
  if (self.op == TileOp::kNot) return EmitOr(call, e, e.Apply(self.op, {x}));
  const TileValue y = e.LoadAs(tensors[1], DType::kBool);
  return EmitOr(call, e, e.Apply(self.op, {x, y}));
}

bool UnaryWith(PlanBuilder& b, KernelCall& call, TileOp op, double p,
               double q) {
  const Operand operands[] = {OperandOf(call, 0)};
  const Tensor tensors[] = {operands[0].tensor};
  DType common;
  Tensor out;
  if (!CommonType(call, operands, op, &common) ||
      !NewResult(b, call, IsTest(op) ? DType::kBool : common, tensors, &out)) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  call.Return(out);
  return EmitOr(
      call, e,
      e.ApplyTo(out.dtype(), op, {e.LoadAs(tensors[0], common)}, p, q));
}

bool Unary(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  return UnaryWith(b, call, self.op, 0, 0);
}

// x * 0.5 * (1 + erf(x / sqrt(2))): float16 keeps an infinity, which the loop
// of the others makes nan of, as PyTorch does.
bool GeluFloat16(PlanBuilder& b, KernelCall& call) {
  constexpr DType kHalf = DType::kFloat16;
  const Tensor tensors[] = {call.tensor(0)};
  Tensor out;
  if (!NewResult(b, call, kHalf, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const auto number = [&](double f) {
    return e.LoadExact(ConstantOf(f, DType::kFloat32), kHalf);
  };
  const TileValue x = e.Load(tensors[0]);
  const TileValue erf = e.Apply(
      TileOp::kErf, {e.Apply(TileOp::kMul, {x, number(0.70710678118654752)})});
  const TileValue weight = e.Apply(TileOp::kAdd, {erf, number(1)});
  const TileValue half = e.Apply(TileOp::kMul, {x, number(0.5)});
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kMul, {half, weight}));
}

bool Gelu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const bool tanh = call.arg(1).is_string() && call.arg(1).string() == "tanh";
  if (!tanh && call.tensor(0).dtype() == DType::kFloat16) {
    return GeluFloat16(b, call);
  }
  return UnaryWith(b, call, tanh ? TileOp::kGeluTanh : TileOp::kGelu, 0, 0);
}

bool LeakyRelu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return UnaryWith(b, call, TileOp::kLeakyRelu, call.Float(1), 0);
}

bool Elu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (call.Float(2) != 1 || call.Float(3) != 1) {
    return call.Fail("scale and input_scale must be 1");
  }
  return UnaryWith(b, call, TileOp::kElu, call.Float(1), 0);
}

bool Softplus(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return UnaryWith(b, call, TileOp::kSoftplus, call.Float(1), call.Float(2));
}

// max(lower, min(upper, x)) with either bound absent.
bool Clamp(PlanBuilder& b, KernelCall& call, const Lowering&) {
  std::vector<Operand> operands = {OperandOf(call, 0)};
  for (size_t i = 1; i < 3; ++i) {
    if (i < call.num_args() && !call.is_none(i)) {
      operands.push_back(OperandOf(call, i));
    }
  }
  std::vector<Tensor> tensors;
  for (const Operand& o : operands) tensors.push_back(o.tensor);
  DType common;
  Tensor out;
  if (!CommonType(call, operands, TileOp::kMax, &common) ||
      !NewResult(b, call, common, tensors, &out)) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  TileValue x = e.LoadAs(tensors[0], common);
  size_t next = 1;
  for (size_t i = 1; i < 3; ++i) {
    if (i >= call.num_args() || call.is_none(i)) continue;
    x = e.Apply(i == 1 ? TileOp::kMax : TileOp::kMin,
                {x, e.LoadAs(tensors[next++], common)});
  }
  if (next == 1) x = e.Apply(TileOp::kCopy, {x});
  call.Return(out);
  return EmitOr(call, e, x);
}

// hardtanh keeps the input's dtype.
bool HardTanh(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor tensors[] = {call.tensor(0)};
  const DType dtype = tensors[0].dtype();
  Tensor out;
  if (!NewResult(b, call, dtype, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x =
      e.Apply(TileOp::kMax,
              {e.Load(tensors[0]), e.Load(ConstantOf(call.Scalar(1), dtype))});
  call.Return(out);
  return EmitOr(
      call, e,
      e.Apply(TileOp::kMin, {x, e.Load(ConstantOf(call.Scalar(2), dtype))}));
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
    return call.Fail("integers only with exponent 2");
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
  if (exponent == -1) {
    return EmitOr(call, e, e.Apply(TileOp::kReciprocal, {x}));
  }
  return EmitOr(call, e,
                e.Apply(TileOp::kPowScalar, {x}, Rounded(exponent, common)));
}

bool Where(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Operand condition = OperandOf(call, 0);
  const Operand choices[] = {OperandOf(call, 1), OperandOf(call, 2)};
  const Tensor tensors[] = {condition.tensor, choices[0].tensor,
                            choices[1].tensor};
  if (condition.tensor.dtype() != DType::kBool) {
    return call.Fail("the condition isn't bool");
  }
  DType common;
  Tensor out;
  if (!CommonType(call, choices, TileOp::kWhere, &common) ||
      !NewResult(b, call, common, tensors, &out)) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  const TileValue c = e.Load(tensors[0]);
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
  const Tensor expanded = ExpandTo(self, sizes);
  const Tensor out = b.NewTensor(
      self.dtype(), sizes,
      expanded.is_dense() ? expanded.strides()
                          : StridesFor(sizes, SuggestedFormat(expanded)));
  if (!out.defined()) return call.Fail("the result is too large");
  PointwiseBuilder e(&b, out);
  const TileValue m = e.Load(mask);
  const TileValue v =
      e.LoadAs(value.View({}, {}, value.offset()), self.dtype());
  const TileValue x = e.Load(self);
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kWhere, {m, v, x}));
}

// self + value * a * b, or a / b.
bool AddProduct(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  const Operand operands[] = {OperandOf(call, 0), OperandOf(call, 1),
                              OperandOf(call, 2)};
  const Tensor tensors[] = {operands[0].tensor, operands[1].tensor,
                            operands[2].tensor};
  DType common;
  Tensor out;
  if (!CommonType(call, operands, self.op, &common) ||
      !NewResult(b, call, common, tensors, &out)) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.LoadAs(tensors[0], common);
  const TileValue y = e.LoadAs(tensors[1], common);
  const TileValue z = e.LoadAs(tensors[2], common);
  const double value = call.Float(3);
  call.Return(out);
  if (self.op == TileOp::kAddcmul) {
    return EmitOr(call, e, e.Apply(TileOp::kAddcmul, {x, y, z}, value));
  }
  return EmitOr(
      call, e,
      e.Apply(TileOp::kAddScaled, {x, e.Apply(TileOp::kDiv, {y, z})}, value));
}

std::optional<Refusal> RefuseByteMask(const Program& program, NodeId node) {
  for (const char* name : {"condition", "mask"}) {
    const Arg* mask = program.FindArg(node, name);
    if (mask == nullptr || !mask->is_value()) continue;
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
constexpr DTypeRule kFloating = DTypeRule::kFloating;

constexpr Lowering Un(std::string_view name, TileOp op,
                      DTypeRule rule = kHeld) {
  return {name, kPure, Unary, rule, op};
}
constexpr Lowering Bin(std::string_view name, TileOp op,
                       DTypeRule rule = kHeld) {
  return {name, kPure, Binary, rule, op};
}
constexpr Lowering Log(std::string_view name, TileOp op) {
  return {name, kPure, Logical, kHeld, op};
}

std::optional<Refusal> RefuseElu(const Program& program, NodeId node) {
  for (const char* name : {"scale", "input_scale"}) {
    const Arg* arg = program.FindArg(node, name);
    if (arg == nullptr) continue;
    const bool is_one = (arg->kind == ArgKind::kInt && arg->i == 1) ||
                        (arg->kind == ArgKind::kFloat && arg->f == 1);
    if (!is_one) {
      return Refusal{RefusalReason::kAttributeValue,
                     std::string("elu with ") + name + " other than 1"};
    }
  }
  return std::nullopt;
}

// Powers of integers go by repeated multiplication; only squares are here.
std::optional<Refusal> RefusePow(const Program& program, NodeId node) {
  const Arg* self = program.FindArg(node, "self");
  const Arg* exponent = program.FindArg(node, "exponent");
  if (self == nullptr || exponent == nullptr || !self->is_value()) {
    return std::nullopt;
  }
  const Type& type = program.type(self->value());
  if (!type.is_tensor() || IsFloating(type.dtype)) return std::nullopt;
  if (exponent->kind == ArgKind::kFloat ||
      (exponent->kind == ArgKind::kInt && exponent->i == 2)) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kDtype, "a power of integers"};
}

constexpr Lowering kLowerings[] = {
    Bin("aten.add.Tensor", TileOp::kAdd),
    Bin("aten.add.Scalar", TileOp::kAdd),
    Bin("aten.sub.Tensor", TileOp::kSub, kNumbers),
    Bin("aten.sub.Scalar", TileOp::kSub, kNumbers),
    {"aten.rsub.Scalar", kPure, ReverseSub, kNumbers},
    {"aten.rsub.Tensor", kPure, ReverseSub, kNumbers},
    Bin("aten.mul.Tensor", TileOp::kMul),
    Bin("aten.mul.Scalar", TileOp::kMul),
    Bin("aten.div.Tensor", TileOp::kDiv),
    Bin("aten.div.Scalar", TileOp::kDiv),
    Bin("aten.maximum.default", TileOp::kMax),
    Bin("aten.minimum.default", TileOp::kMin),
    Bin("aten.max.other", TileOp::kMax),
    Bin("aten.min.other", TileOp::kMin),
    Bin("aten.pow.Tensor_Tensor", TileOp::kPow, kFloating),
    Bin("aten.pow.Scalar", TileOp::kPow, kFloating),
    {"aten.pow.Tensor_Scalar", kPure, PowScalar, kNumbers, TileOp::kCopy,
     RefusePow},
    Bin("aten.remainder.Tensor", TileOp::kRemainder, kFloating),
    Bin("aten.remainder.Scalar", TileOp::kRemainder, kFloating),
    Bin("aten.atan2.default", TileOp::kAtan2),
    Bin("aten.bitwise_and.Tensor", TileOp::kAnd, DTypeRule::kBits),
    Bin("aten.bitwise_and.Scalar", TileOp::kAnd, DTypeRule::kBits),
    Bin("aten.bitwise_or.Tensor", TileOp::kOr, DTypeRule::kBits),
    Bin("aten.bitwise_or.Scalar", TileOp::kOr, DTypeRule::kBits),
    Bin("aten.bitwise_xor.Tensor", TileOp::kXor, DTypeRule::kBits),
    Bin("aten.__and__.Tensor", TileOp::kAnd, DTypeRule::kBits),
    Bin("aten.__or__.Tensor", TileOp::kOr, DTypeRule::kBits),
    Bin("aten.__xor__.Tensor", TileOp::kXor, DTypeRule::kBits),
    Bin("aten.eq.Tensor", TileOp::kEq),
    Bin("aten.eq.Scalar", TileOp::kEq),
    Bin("aten.ne.Tensor", TileOp::kNe),
    Bin("aten.ne.Scalar", TileOp::kNe),
    Bin("aten.lt.Tensor", TileOp::kLt),
    Bin("aten.lt.Scalar", TileOp::kLt),
    Bin("aten.le.Tensor", TileOp::kLe),
    Bin("aten.le.Scalar", TileOp::kLe),
    Bin("aten.gt.Tensor", TileOp::kGt),
    Bin("aten.gt.Scalar", TileOp::kGt),
    Bin("aten.ge.Tensor", TileOp::kGe),
    Bin("aten.ge.Scalar", TileOp::kGe),
    Log("aten.logical_and.default", TileOp::kAnd),
    Log("aten.logical_or.default", TileOp::kOr),
    Log("aten.logical_xor.default", TileOp::kXor),
    Log("aten.logical_not.default", TileOp::kNot),
    Un("aten.bitwise_not.default", TileOp::kBitNot, DTypeRule::kBits),
    Un("aten.neg.default", TileOp::kNeg, kNumbers),
    Un("aten.abs.default", TileOp::kAbs, kNumbers),
    Un("aten.square.default", TileOp::kSquare, kNumbers),
    Un("aten.relu.default", TileOp::kRelu, kNumbers),
    Un("aten.sign.default", TileOp::kSign, kNumbers),
    Un("aten.exp.default", TileOp::kExp),
    Un("aten.exp2.default", TileOp::kExp2),
    Un("aten.expm1.default", TileOp::kExpm1),
    Un("aten.log.default", TileOp::kLog),
    Un("aten.log1p.default", TileOp::kLog1p),
    Un("aten.log2.default", TileOp::kLog2),
    Un("aten.sqrt.default", TileOp::kSqrt),
    Un("aten.rsqrt.default", TileOp::kRsqrt),
    Un("aten.reciprocal.default", TileOp::kReciprocal),
    Un("aten.tanh.default", TileOp::kTanh),
    Un("aten.sigmoid.default", TileOp::kSigmoid),
    Un("aten.silu.default", TileOp::kSilu, kFloating),
    Un("aten.erf.default", TileOp::kErf),
    Un("aten.sin.default", TileOp::kSin),
    Un("aten.cos.default", TileOp::kCos),
    Un("aten.floor.default", TileOp::kFloor, kFloating),
    Un("aten.ceil.default", TileOp::kCeil, kFloating),
    Un("aten.trunc.default", TileOp::kTrunc, kFloating),
    Un("aten.round.default", TileOp::kRound, kFloating),
    Un("aten.hardsigmoid.default", TileOp::kHardSigmoid, kFloating),
    Un("aten.hardswish.default", TileOp::kHardSwish, kFloating),
    Un("aten.isnan.default", TileOp::kIsNan, kFloating),
    Un("aten.isinf.default", TileOp::kIsInf, kFloating),
    {"aten.gelu.default", kPure, Gelu, kFloating},
    {"aten.leaky_relu.default", kPure, LeakyRelu, kFloating},
    {"aten.elu.default", kPure, Elu, kFloating, TileOp::kCopy, RefuseElu},
    {"aten.softplus.default", kPure, Softplus, kFloating},
    {"aten.hardtanh.default", kPure, HardTanh, kFloating},
    {"aten.clamp.default", kPure, Clamp, kNumbers},
    {"aten.clamp.Tensor", kPure, Clamp, kNumbers},
    {"aten.clamp_min.default", kPure, Clamp, kNumbers},
    {"aten.where.self", kPure, Where, kHeld, TileOp::kCopy, RefuseByteMask},
    {"aten.where.ScalarOther", kPure, Where, kHeld, TileOp::kCopy,
     RefuseByteMask},
    {"aten.where.ScalarSelf", kPure, Where, kHeld, TileOp::kCopy,
     RefuseByteMask},
    {"aten.where.Scalar", kPure, Where, kHeld, TileOp::kCopy, RefuseByteMask},
    {"aten.masked_fill.Scalar", kPure, MaskedFill, kHeld, TileOp::kCopy,
     RefuseByteMask},
    {"aten.masked_fill.Tensor", kPure, MaskedFill, kHeld, TileOp::kCopy,
     RefuseByteMask},
    {"aten.addcmul.default", kPure, AddProduct, kNumbers, TileOp::kAddcmul},
    {"aten.addcdiv.default", kPure, AddProduct, kFloating, TileOp::kDiv},
};

}  // namespace

std::span<const Lowering> PointwiseLowerings() { return kLowerings; }

}  // namespace tenon::cpu
