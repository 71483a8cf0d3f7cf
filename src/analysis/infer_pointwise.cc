// Element by element: operands are broadcast, dtypes promoted.
#include "analysis/infer_pointwise.h"

namespace tenon {
namespace pointwise {
namespace {

DType DtypeOf(DType promoted, uint32_t outcome) {
  switch (outcome) {
    case kFloat:
      return ToFloating(promoted);
    case kBoolean:
      return DType::kBool;
    case kRealPart:
      return ToReal(promoted);
    case kIfFloating:
      return IsFloating(promoted) ? promoted : DType::kUnknown;
    case kIfInexact:
      return IsFloating(promoted) || IsComplex(promoted) ? promoted
                                                         : DType::kUnknown;
    case kNumeric:
      return promoted == DType::kBool ? DType::kInt64 : promoted;
    case kDouble:
      return IsComplex(promoted) ? DType::kComplex128 : DType::kFloat64;
    default:
      return promoted;
  }
}

}  // namespace

void Pointwise(InferCall& call, uint32_t parameter) {
  Promotion promotion;
  bool is_known = true;
  const uint32_t outcome = parameter >> 16;
  DType agreed = DType::kUnknown;
  bool do_agree = true;
  InferredType& out = call.AddTensor(DType::kUnknown, 0);
  for (size_t i = 0; i < call.num_parameters(); ++i) {
    if (const Type* t = call.Tensor(i)) BroadcastInto(*t, &out);
    if (parameter >> i & 1 && i < 16) {
      is_known = call.AddTo(&promotion, call.Get(i)) && is_known;
      const Type* t = call.Tensor(i);
      if (t != nullptr && agreed == DType::kUnknown) agreed = t->dtype;
      do_agree = do_agree && (t == nullptr || t->dtype == agreed);
    }
  }
  if (outcome == kAgreed && !do_agree) is_known = false;
  if (is_known || outcome == kBoolean) {
    const DType promoted = promotion.Result();
    out.dtype = DtypeOf(promoted, outcome);
    out.is_default_dtype = outcome != kBoolean && outcome != kDouble &&
                           (promotion.is_default_dtype() ||
                            (outcome == kFloat && out.dtype != promoted));
  }
}

}  // namespace pointwise

namespace {

using namespace pointwise;

// div with a rounding mode keeps integers; without, it is true division.
void DivideMode(InferCall& call, uint32_t) {
  const bool is_rounded = call.Has(2);
  Pointwise(call, P(is_rounded ? kPromoted : kFloat, kBoth));
}

// Of a complex number its argument, a real.
void Angle(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  const bool is_complex = IsComplex(self->dtype);
  Pointwise(call, P(is_complex ? kRealPart : kFloat, kSelf));
}

// A mantissa like self, and a whole exponent.
void SplitExponent(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  call.AddLike(*self);
  call.AddLike(*self, DType::kInt32);
}

constexpr InferRow kRows[] = {
    {"aten.abs.default", Pointwise, P(kRealPart, kSelf)},
    {"aten.neg.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.relu.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.relu6.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.sign.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.sgn.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.floor.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.ceil.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.round.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.round.decimals", Pointwise, P(kPromoted, kSelf)},
    {"aten.trunc.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.frac.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.square.default", Pointwise, P(kNumeric, kSelf)},
    {"aten.bitwise_not.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.clone.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.contiguous.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.positive.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.lift_fresh_copy.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.lift_fresh.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.alias.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.alias_copy.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.detach.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.detach_copy.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.detach_.default", Pointwise, P(kPromoted, kSelf)},
    {"aten._conj.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.resolve_conj.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.resolve_neg.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.dropout.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.nan_to_num.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.hardtanh.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.leaky_relu.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.elu.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.celu.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.selu.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.gelu.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.silu.default", Pointwise, P(kIfInexact, kSelf)},
    {"aten.mish.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.hardswish.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.hardsigmoid.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.softplus.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.hardshrink.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.softshrink.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.threshold.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.log_sigmoid.default", Pointwise, P(kIfFloating, kSelf)},
    {"aten.clamp.default", Pointwise, P(kPromoted, 0b111)},
    {"aten.clamp.Tensor", Pointwise, P(kPromoted, 0b111)},
    {"aten.clamp_min.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.clamp_max.default", Pointwise, P(kPromoted, kBoth)},

    {"aten.sin.default", Pointwise, P(kFloat, kSelf)},
    {"aten.cos.default", Pointwise, P(kFloat, kSelf)},
    {"aten.tan.default", Pointwise, P(kFloat, kSelf)},
    {"aten.asin.default", Pointwise, P(kFloat, kSelf)},
    {"aten.acos.default", Pointwise, P(kFloat, kSelf)},
    {"aten.atan.default", Pointwise, P(kFloat, kSelf)},
    {"aten.sinh.default", Pointwise, P(kFloat, kSelf)},
    {"aten.cosh.default", Pointwise, P(kFloat, kSelf)},
    {"aten.tanh.default", Pointwise, P(kFloat, kSelf)},
    {"aten.asinh.default", Pointwise, P(kFloat, kSelf)},
    {"aten.acosh.default", Pointwise, P(kFloat, kSelf)},
    {"aten.atanh.default", Pointwise, P(kFloat, kSelf)},
    {"aten.exp.default", Pointwise, P(kFloat, kSelf)},
    {"aten.exp2.default", Pointwise, P(kFloat, kSelf)},
    {"aten.expm1.default", Pointwise, P(kFloat, kSelf)},
    {"aten.log.default", Pointwise, P(kFloat, kSelf)},
    {"aten.log2.default", Pointwise, P(kFloat, kSelf)},
    {"aten.log10.default", Pointwise, P(kFloat, kSelf)},
    {"aten.log1p.default", Pointwise, P(kFloat, kSelf)},
    {"aten.sqrt.default", Pointwise, P(kFloat, kSelf)},
    {"aten.rsqrt.default", Pointwise, P(kFloat, kSelf)},
    {"aten.reciprocal.default", Pointwise, P(kFloat, kSelf)},
    {"aten.sigmoid.default", Pointwise, P(kFloat, kSelf)},
    {"aten.erf.default", Pointwise, P(kFloat, kSelf)},
    {"aten.erfc.default", Pointwise, P(kFloat, kSelf)},
    {"aten.erfinv.default", Pointwise, P(kFloat, kSelf)},
    {"aten.lgamma.default", Pointwise, P(kFloat, kSelf)},
    {"aten.digamma.default", Pointwise, P(kFloat, kSelf)},
    {"aten.sinc.default", Pointwise, P(kFloat, kSelf)},

    {"aten.isnan.default", Pointwise, P(kBoolean, kSelf)},
    {"aten.isinf.default", Pointwise, P(kBoolean, kSelf)},
    {"aten.isfinite.default", Pointwise, P(kBoolean, kSelf)},
    {"aten.signbit.default", Pointwise, P(kBoolean, kSelf)},
    {"aten.logical_not.default", Pointwise, P(kBoolean, kSelf)},
    {"aten.logical_and.default", Pointwise, P(kBoolean, kBoth)},
    {"aten.logical_or.default", Pointwise, P(kBoolean, kBoth)},
    {"aten.logical_xor.default", Pointwise, P(kBoolean, kBoth)},
    {"aten.eq.Tensor", Pointwise, P(kBoolean, kBoth)},
    {"aten.eq.Scalar", Pointwise, P(kBoolean, kBoth)},
    {"aten.ne.Tensor", Pointwise, P(kBoolean, kBoth)},
    {"aten.ne.Scalar", Pointwise, P(kBoolean, kBoth)},
    {"aten.lt.Tensor", Pointwise, P(kBoolean, kBoth)},
    {"aten.lt.Scalar", Pointwise, P(kBoolean, kBoth)},
    {"aten.le.Tensor", Pointwise, P(kBoolean, kBoth)},
    {"aten.le.Scalar", Pointwise, P(kBoolean, kBoth)},
    {"aten.gt.Tensor", Pointwise, P(kBoolean, kBoth)},
    {"aten.gt.Scalar", Pointwise, P(kBoolean, kBoth)},
    {"aten.ge.Tensor", Pointwise, P(kBoolean, kBoth)},
    {"aten.ge.Scalar", Pointwise, P(kBoolean, kBoth)},

    {"aten.add.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.add.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.sub.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.sub.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.rsub.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.rsub.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.mul.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.mul.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.div.Tensor", Pointwise, P(kFloat, kBoth)},
    {"aten.div.Scalar", Pointwise, P(kFloat, kBoth)},
    {"aten.div.Tensor_mode", DivideMode, 0},
    {"aten.div.Scalar_mode", DivideMode, 0},
    {"aten.true_divide.Tensor", Pointwise, P(kFloat, kBoth)},
    {"aten.floor_divide.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.floor_divide.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.remainder.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.remainder.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.fmod.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.fmod.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.pow.Tensor_Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.pow.Tensor_Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.pow.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.maximum.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.minimum.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.max.other", Pointwise, P(kPromoted, kBoth)},
    {"aten.min.other", Pointwise, P(kPromoted, kBoth)},
    {"aten.fmax.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.fmin.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_and.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_and.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_or.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_or.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_xor.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_xor.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.__and__.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.__and__.Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.__or__.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.__xor__.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.atan2.default", Pointwise, P(kFloat, kBoth)},
    {"aten.lerp.Scalar", Pointwise, P(kIfInexact, kBoth)},
    {"aten.lerp.Tensor", Pointwise, P(kIfInexact, 0b111)},
    {"aten.addcmul.default", Pointwise, P(kPromoted, 0b111)},
    {"aten.addcdiv.default", Pointwise, P(kPromoted, 0b111)},
    {"aten.where.self", Pointwise, P(kPromoted, 0b110)},
    {"aten.where.ScalarOther", Pointwise, P(kPromoted, 0b110)},
    {"aten.where.ScalarSelf", Pointwise, P(kPromoted, 0b110)},
    {"aten.masked_fill.Scalar", Pointwise, P(kPromoted, kSelf)},
    {"aten.masked_fill.Tensor", Pointwise, P(kPromoted, kSelf)},

    {"aten.isreal.default", Pointwise, P(kBoolean, kSelf)},
    {"aten.isposinf.default", Pointwise, P(kBoolean, kSelf)},
    {"aten.isneginf.default", Pointwise, P(kBoolean, kSelf)},
    {"aten.isclose.default", Pointwise, P(kBoolean, kBoth)},
    {"aten.conj_physical.default", Pointwise, P(kPromoted, kSelf)},
    {"aten._conj_physical.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.fill.Scalar", Pointwise, P(kPromoted, kSelf)},
    {"aten.fill.Tensor", Pointwise, P(kPromoted, kSelf)},
    {"aten.alpha_dropout.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.feature_dropout.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.feature_alpha_dropout.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.rrelu.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.bernoulli.default", Pointwise, P(kPromoted, kSelf)},
    {"aten.bernoulli.p", Pointwise, P(kPromoted, kSelf)},
    {"aten.rad2deg.default", Pointwise, P(kFloat, kSelf)},
    {"aten.deg2rad.default", Pointwise, P(kFloat, kSelf)},
    {"aten.logit.default", Pointwise, P(kFloat, kSelf)},
    {"aten.clamp_min.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.clamp_max.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.heaviside.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.gcd.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.lcm.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.hypot.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.nextafter.default", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_left_shift.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_right_shift.Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_left_shift.Tensor_Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_right_shift.Tensor_Scalar", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_left_shift.Scalar_Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_right_shift.Scalar_Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_and.Scalar_Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_or.Scalar_Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.bitwise_xor.Scalar_Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.remainder.Scalar_Tensor", Pointwise, P(kPromoted, kBoth)},
    {"aten.copysign.Tensor", Pointwise, P(kFloat, kBoth)},
    {"aten.copysign.Scalar", Pointwise, P(kFloat, kBoth)},
    {"aten.logaddexp.default", Pointwise, P(kIfInexact, kBoth)},
    {"aten.logaddexp2.default", Pointwise, P(kIfInexact, kBoth)},
    {"aten.float_power.Tensor_Tensor", Pointwise, P(kDouble, kBoth)},
    {"aten.float_power.Tensor_Scalar", Pointwise, P(kDouble, kBoth)},
    {"aten.float_power.Scalar", Pointwise, P(kDouble, kBoth)},
    {"aten.where.Scalar", Pointwise, P(kPromoted, 0b110)},
    {"aten.angle.default", Angle},
    {"aten.ldexp.Tensor", Pointwise, P(kFloat, kBoth)},
    {"aten.frexp.Tensor", SplitExponent},
    {"aten.copy.default", LikeArguments, LikeArg(0)},
    {"aten.prelu.default", LikeArguments, LikeArg(0)},
    {"aten._prelu_kernel.default", Pointwise, P(kAgreed, kBoth)},
};

}  // namespace

std::span<const InferRow> PointwiseRows() { return kRows; }

}  // namespace tenon
