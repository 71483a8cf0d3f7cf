// Elementwise arithmetic, comparisons, logic and functions of one number:
// promotion as in the reference kernels, then a tile program.
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering_elementwise.h"
#include "backends/cpu/narrow_types.h"

namespace tenon::cpu {
namespace {

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
  const double alpha = RoundedNumber(call.Float(2), common);
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

// self + value * a * b, or self + (value * a) / b.
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
  const TileValue scaled =
      value == 1
          ? y
          : e.Apply(TileOp::kMul,
                    {y, e.LoadExact(ConstantOf(value, ComputedAs(common)),
                                    common)});
  return EmitOr(call, e,
                e.Apply(TileOp::kAdd, {x, e.Apply(TileOp::kDiv, {scaled, z})}));
}

bool Logit(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return UnaryWith(b, call, TileOp::kLogit,
                   call.is_none(1) ? -1 : call.Float(1), 0);
}

bool RoundDecimals(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return UnaryWith(b, call, TileOp::kRoundDecimals,
                   static_cast<double>(call.Int(1)), 0);
}

bool Times(PlanBuilder& b, KernelCall& call, double factor) {
  const Tensor tensors[] = {call.tensor(0)};
  const DType common = IntToFloat(tensors[0].dtype());
  Tensor out;
  if (!NewResult(b, call, common, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.LoadAs(tensors[0], common);
  call.Return(out);
  return EmitOr(call, e,
                e.Apply(TileOp::kMul,
                        {x, e.LoadExact(ConstantOf(factor, ComputedAs(common)),
                                        common)}));
}

constexpr double kPi = 3.14159265358979323846;

bool DegreesToRadians(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Times(b, call, kPi / 180);
}
bool RadiansToDegrees(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Times(b, call, 180 / kPi);
}

bool Heaviside(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  if (call.tensor(0).dtype() != call.tensor(1).dtype()) {
    return call.Fail("both operands need the same dtype");
  }
  return Binary(b, call, self);
}

// From the first operand to the second; the dtype is theirs.
bool Lerp(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Operand weight = OperandOf(call, 2);
  const Tensor tensors[] = {call.tensor(0), call.tensor(1), weight.tensor};
  const DType dtype = tensors[0].dtype();
  if (tensors[1].dtype() != dtype ||
      (!weight.is_number && weight.tensor.dtype() != dtype &&
       weight.tensor.dim() > 0)) {
    return call.Fail("the operands' dtypes differ");
  }
  Tensor out;
  if (!NewResult(b, call, dtype, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue from = e.Load(tensors[0]), to = e.Load(tensors[1]);
  const TileValue at = weight.is_number ? e.LoadExact(weight.tensor, dtype)
                                        : e.LoadAs(weight.tensor, dtype);
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kLerp, {from, to, at}));
}

// The operator's result and operands.
std::optional<Refusal> RefuseDType(const Program& program, NodeId node,
                                   bool (*is_refused)(DType)) {
  const ValueRange results = program.node(node).results;
  if (results.count == 0) return std::nullopt;
  const DType dtype = program.type(results[0]).dtype;
  if (!is_refused(dtype)) return std::nullopt;
  return Refusal{RefusalReason::kDtype, std::string(Name(dtype))};
}

std::optional<Refusal> RefuseHalf(const Program& program, NodeId node) {
  return RefuseDType(program, node, IsHalf);
}

std::optional<Refusal> RefuseBool(const Program& program, NodeId node) {
  return RefuseDType(program, node, [](DType d) { return d == DType::kBool; });
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kHeld = DTypeRule::kHeld;
constexpr DTypeRule kNumbers = DTypeRule::kNumbers;
constexpr DTypeRule kFloating = DTypeRule::kFloating;

constexpr Lowering Un(std::string_view name, TileOp op,
                      DTypeRule rule = kHeld) {
  return UnaryOperator(name, op, rule);
}
constexpr Lowering Bin(std::string_view name, TileOp op,
                       DTypeRule rule = kHeld) {
  return BinaryOperator(name, op, rule);
}
constexpr Lowering Log(std::string_view name, TileOp op) {
  return {name, kPure, Logical, kHeld, op};
}

constexpr Lowering kLowerings[] = {
    Bin("aten.add.Tensor", TileOp::kAdd),
    Bin("aten.add.Scalar", TileOp::kAdd),
    Bin("aten.sub.Tensor", TileOp::kSub, kNumbers),
    Bin("aten.sub.Scalar", TileOp::kSub, kNumbers),
    Bin("aten.subtract.Tensor", TileOp::kSub, kNumbers),
    {"aten.rsub.Scalar", kPure, ReverseSub, kNumbers},
    {"aten.rsub.Tensor", kPure, ReverseSub, kNumbers},
    Bin("aten.mul.Tensor", TileOp::kMul),
    Bin("aten.mul.Scalar", TileOp::kMul),
    Bin("aten.multiply.Tensor", TileOp::kMul),
    Bin("aten.div.Tensor", TileOp::kDiv),
    Bin("aten.div.Scalar", TileOp::kDiv),
    Bin("aten.divide.Tensor", TileOp::kDiv),
    Bin("aten.true_divide.Tensor", TileOp::kDiv),
    Bin("aten.atan2.default", TileOp::kAtan2),
    Bin("aten.arctan2.default", TileOp::kAtan2),
    Bin("aten.hypot.default", TileOp::kHypot, kFloating),
    Bin("aten.copysign.Tensor", TileOp::kCopySign),
    Bin("aten.copysign.Scalar", TileOp::kCopySign),
    {"aten.nextafter.default", kPure, Binary, kFloating, TileOp::kNextAfter,
     RefuseHalf},
    Bin("aten.xlogy.Tensor", TileOp::kXlogy),
    Bin("aten.xlogy.Scalar_Self", TileOp::kXlogy),
    Bin("aten.xlogy.Scalar_Other", TileOp::kXlogy),
    Bin("aten.special_xlog1py.default", TileOp::kXlog1py),
    Bin("aten.special_xlog1py.self_scalar", TileOp::kXlog1py),
    Bin("aten.special_xlog1py.other_scalar", TileOp::kXlog1py),
    Bin("aten.logaddexp.default", TileOp::kLogAddExp, kFloating),
    Bin("aten.logaddexp2.default", TileOp::kLogAddExp2, kFloating),
    Bin("aten.igamma.default", TileOp::kGammaP, kFloating),
    Bin("prims.igamma.default", TileOp::kGammaP, kFloating),
    Bin("aten.igammac.default", TileOp::kGammaQ, kFloating),
    Bin("prims.igammac.default", TileOp::kGammaQ, kFloating),
    Bin("aten.special_zeta.default", TileOp::kZeta),
    Bin("aten.special_zeta.self_scalar", TileOp::kZeta),
    Bin("aten.special_zeta.other_scalar", TileOp::kZeta),
    Bin("prims.zeta.default", TileOp::kZeta),
    {"aten.heaviside.default", kPure, Heaviside, kNumbers, TileOp::kHeaviside},
    Bin("aten.bitwise_and.Tensor", TileOp::kAnd, DTypeRule::kBits),
    Bin("aten.bitwise_and.Scalar", TileOp::kAnd, DTypeRule::kBits),
    Bin("aten.bitwise_and.Scalar_Tensor", TileOp::kAnd, DTypeRule::kBits),
    Bin("aten.__and__.Tensor", TileOp::kAnd, DTypeRule::kBits),
    Bin("aten.__and__.Scalar", TileOp::kAnd, DTypeRule::kBits),
    Bin("aten.bitwise_or.Tensor", TileOp::kOr, DTypeRule::kBits),
    Bin("aten.bitwise_or.Scalar", TileOp::kOr, DTypeRule::kBits),
    Bin("aten.bitwise_or.Scalar_Tensor", TileOp::kOr, DTypeRule::kBits),
    Bin("aten.__or__.Tensor", TileOp::kOr, DTypeRule::kBits),
    Bin("aten.__or__.Scalar", TileOp::kOr, DTypeRule::kBits),
    Bin("aten.bitwise_xor.Tensor", TileOp::kXor, DTypeRule::kBits),
    Bin("aten.bitwise_xor.Scalar", TileOp::kXor, DTypeRule::kBits),
    Bin("aten.bitwise_xor.Scalar_Tensor", TileOp::kXor, DTypeRule::kBits),
    Bin("aten.__xor__.Tensor", TileOp::kXor, DTypeRule::kBits),
    Bin("aten.__xor__.Scalar", TileOp::kXor, DTypeRule::kBits),
    {"aten.bitwise_left_shift.Tensor", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftLeft, RefuseBool},
    {"aten.bitwise_left_shift.Tensor_Scalar", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftLeft, RefuseBool},
    {"aten.bitwise_left_shift.Scalar_Tensor", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftLeft, RefuseBool},
    {"aten.__lshift__.Tensor", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftLeft, RefuseBool},
    {"aten.__lshift__.Scalar", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftLeft, RefuseBool},
    {"aten.bitwise_right_shift.Tensor", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftRight, RefuseBool},
    {"aten.bitwise_right_shift.Tensor_Scalar", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftRight, RefuseBool},
    {"aten.bitwise_right_shift.Scalar_Tensor", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftRight, RefuseBool},
    {"aten.__rshift__.Tensor", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftRight, RefuseBool},
    {"aten.__rshift__.Scalar", kPure, Binary, DTypeRule::kBits,
     TileOp::kShiftRight, RefuseBool},
    Bin("aten.eq.Tensor", TileOp::kEq),
    Bin("aten.eq.Scalar", TileOp::kEq),
    Bin("aten.ne.Tensor", TileOp::kNe),
    Bin("aten.ne.Scalar", TileOp::kNe),
    Bin("aten.not_equal.Tensor", TileOp::kNe),
    Bin("aten.not_equal.Scalar", TileOp::kNe),
    Bin("aten.lt.Tensor", TileOp::kLt),
    Bin("aten.lt.Scalar", TileOp::kLt),
    Bin("aten.less.Tensor", TileOp::kLt),
    Bin("aten.less.Scalar", TileOp::kLt),
    Bin("aten.le.Tensor", TileOp::kLe),
    Bin("aten.le.Scalar", TileOp::kLe),
    Bin("aten.less_equal.Tensor", TileOp::kLe),
    Bin("aten.less_equal.Scalar", TileOp::kLe),
    Bin("aten.gt.Tensor", TileOp::kGt),
    Bin("aten.gt.Scalar", TileOp::kGt),
    Bin("aten.greater.Tensor", TileOp::kGt),
    Bin("aten.greater.Scalar", TileOp::kGt),
    Bin("aten.ge.Tensor", TileOp::kGe),
    Bin("aten.ge.Scalar", TileOp::kGe),
    Bin("aten.greater_equal.Tensor", TileOp::kGe),
    Bin("aten.greater_equal.Scalar", TileOp::kGe),
    Log("aten.logical_and.default", TileOp::kAnd),
    Log("aten.logical_or.default", TileOp::kOr),
    Log("aten.logical_xor.default", TileOp::kXor),
    Log("aten.logical_not.default", TileOp::kNot),
    Un("aten.bitwise_not.default", TileOp::kBitNot, DTypeRule::kBits),
    Un("prims.bitwise_not.default", TileOp::kBitNot, DTypeRule::kBits),
    Un("aten.neg.default", TileOp::kNeg, kNumbers),
    Un("aten.negative.default", TileOp::kNeg, kNumbers),
    Un("aten._neg_view_copy.default", TileOp::kNeg, kNumbers),
    Un("aten.abs.default", TileOp::kAbs, kNumbers),
    Un("aten.absolute.default", TileOp::kAbs, kNumbers),
    Un("prims.abs.default", TileOp::kAbs, kNumbers),
    Un("aten.square.default", TileOp::kSquare, kNumbers),
    Un("aten.sign.default", TileOp::kSign, kNumbers),
    Un("aten.sgn.default", TileOp::kSign, kNumbers),
    Un("prims.sign.default", TileOp::kSign, kNumbers),
    Un("aten._conj_copy.default", TileOp::kCopy),
    Un("aten._conj_physical.default", TileOp::kCopy),
    Un("prims.conj_physical.default", TileOp::kCopy),
    Un("aten.exp.default", TileOp::kExp),
    Un("aten.exp2.default", TileOp::kExp2),
    Un("aten.expm1.default", TileOp::kExpm1),
    Un("aten.log.default", TileOp::kLog),
    Un("aten.log1p.default", TileOp::kLog1p),
    Un("aten.log2.default", TileOp::kLog2),
    Un("aten.log10.default", TileOp::kLog10),
    Un("aten.sqrt.default", TileOp::kSqrt),
    Un("aten.rsqrt.default", TileOp::kRsqrt),
    Un("aten.reciprocal.default", TileOp::kReciprocal),
    Un("aten.tanh.default", TileOp::kTanh),
    Un("aten.sigmoid.default", TileOp::kSigmoid),
    Un("aten.erf.default", TileOp::kErf),
    Un("aten.erfc.default", TileOp::kErfc),
    Un("aten.sin.default", TileOp::kSin),
    Un("aten.cos.default", TileOp::kCos),
    Un("aten.tan.default", TileOp::kTan),
    Un("aten.sinh.default", TileOp::kSinh),
    Un("aten.cosh.default", TileOp::kCosh),
    Un("aten.sinc.default", TileOp::kSinc),
    Un("aten.acos.default", TileOp::kAcos),
    Un("aten.arccos.default", TileOp::kAcos),
    Un("aten.acosh.default", TileOp::kAcosh),
    Un("aten.arccosh.default", TileOp::kAcosh),
    Un("aten.asin.default", TileOp::kAsin),
    Un("aten.arcsin.default", TileOp::kAsin),
    Un("aten.asinh.default", TileOp::kAsinh),
    Un("aten.arcsinh.default", TileOp::kAsinh),
    Un("aten.atan.default", TileOp::kAtan),
    Un("aten.arctan.default", TileOp::kAtan),
    Un("aten.atanh.default", TileOp::kAtanh),
    Un("aten.arctanh.default", TileOp::kAtanh),
    Un("prims.exp2.default", TileOp::kExp2),
    Un("prims.log2.default", TileOp::kLog2),
    Un("prims.reciprocal.default", TileOp::kReciprocal),
    Un("prims.rsqrt.default", TileOp::kRsqrt),
    Un("prims.lgamma.default", TileOp::kLgamma),
    Un("prims.digamma.default", TileOp::kDigamma),
    Un("prims.erf_inv.default", TileOp::kErfinv),
    Un("prims.erfcx.default", TileOp::kErfcx),
    Un("prims.ndtri.default", TileOp::kNdtri),
    Un("prims.bessel_i0.default", TileOp::kBesselI0),
    Un("prims.bessel_i0e.default", TileOp::kBesselI0e),
    Un("prims.bessel_i1.default", TileOp::kBesselI1),
    Un("prims.bessel_i1e.default", TileOp::kBesselI1e),
    Un("aten.lgamma.default", TileOp::kLgamma),
    Un("aten.digamma.default", TileOp::kDigamma),
    Un("aten.erfinv.default", TileOp::kErfinv),
    Un("aten.special_erfcx.default", TileOp::kErfcx),
    Un("aten.special_ndtr.default", TileOp::kNdtr),
    Un("aten.special_ndtri.default", TileOp::kNdtri),
    Un("aten.special_log_ndtr.default", TileOp::kLogNdtr),
    Un("aten.i0.default", TileOp::kBesselI0),
    Un("aten.special_i0e.default", TileOp::kBesselI0e),
    Un("aten.special_i1.default", TileOp::kBesselI1),
    Un("aten.special_i1e.default", TileOp::kBesselI1e),
    Un("aten.special_modified_bessel_i0.default", TileOp::kBesselI0),
    Un("aten.special_modified_bessel_i1.default", TileOp::kBesselI1),
    Un("aten.special_entr.default", TileOp::kEntr),
    Un("aten.floor.default", TileOp::kFloor, kFloating),
    Un("aten.ceil.default", TileOp::kCeil, kFloating),
    Un("aten.trunc.default", TileOp::kTrunc, kFloating),
    Un("aten.fix.default", TileOp::kTrunc, kFloating),
    Un("aten.round.default", TileOp::kRound, kFloating),
    Un("aten.frac.default", TileOp::kFrac, kFloating),
    Un("prims.trunc.default", TileOp::kTrunc, kFloating),
    Un("aten.isnan.default", TileOp::kIsNan, kFloating),
    Un("aten.isinf.default", TileOp::kIsInf, kFloating),
    Un("aten.isfinite.default", TileOp::kIsFinite, kFloating),
    Un("aten.signbit.default", TileOp::kSignBit, kFloating),
    Un("prims.signbit.default", TileOp::kSignBit, kFloating),
    {"aten.logit.default", kPure, Logit},
    {"aten.round.decimals", kPure, RoundDecimals, kFloating},
    {"aten.deg2rad.default", kPure, DegreesToRadians},
    {"aten.rad2deg.default", kPure, RadiansToDegrees},
    {"aten.lerp.Scalar", kPure, Lerp, kFloating},
    {"aten.lerp.Tensor", kPure, Lerp, kFloating},
    {"aten.addcmul.default", kPure, AddProduct, kNumbers, TileOp::kAddcmul},
    {"aten.addcdiv.default", kPure, AddProduct, kFloating, TileOp::kDiv},
};

}  // namespace

std::span<const Lowering> PointwiseLowerings() { return kLowerings; }

}  // namespace tenon::cpu
