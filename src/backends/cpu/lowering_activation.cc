// Activation functions.
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering_elementwise.h"
#include "backends/cpu/narrow_types.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// Bounds of integers lose their fraction; the dtype stays.
bool ClampWithin(PlanBuilder& b, KernelCall& call, const RuntimeValue& low,
                 const RuntimeValue& high) {
  const Tensor tensors[] = {call.tensor(0)};
  const DType dtype = tensors[0].dtype();
  Tensor out;
  if (!NewResult(b, call, dtype, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.Apply(
      TileOp::kMax, {e.Load(tensors[0]), e.Load(ConstantOf(low, dtype))});
  call.Return(out);
  return EmitOr(call, e,
                e.Apply(TileOp::kMin, {x, e.Load(ConstantOf(high, dtype))}));
}

bool HardTanh(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ClampWithin(b, call, call.Scalar(1), call.Scalar(2));
}

// x * 0.5 * (1 + erf(x / sqrt(2))): float16 and float64 keep an infinity, which
// the loop of the others makes nan of, as PyTorch does.
bool GeluStepByStep(PlanBuilder& b, KernelCall& call) {
  const Tensor tensors[] = {call.tensor(0)};
  const DType dtype = tensors[0].dtype();
  Tensor out;
  if (!NewResult(b, call, dtype, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const auto number = [&](double f) {
    return e.LoadExact(ConstantOf(f, ComputedAs(dtype)), dtype);
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
  const DType dtype = call.tensor(0).dtype();
  if (!tanh && (dtype == DType::kFloat16 || dtype == DType::kFloat64)) {
    return GeluStepByStep(b, call);
  }
  return UnaryWith(b, call, tanh ? TileOp::kGeluTanh : TileOp::kGelu, 0, 0);
}

bool LeakyRelu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return UnaryWith(b, call, TileOp::kLeakyRelu, call.Float(1), 0);
}

// x > 0 ? x * scale : expm1(x * input_scale) * negative
bool EluWith(PlanBuilder& b, KernelCall& call, double negative, double scale,
             double input_scale) {
  const Tensor tensors[] = {call.tensor(0)};
  const DType dtype = tensors[0].dtype();
  Tensor out;
  if (!NewResult(b, call, dtype, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const auto number = [&](double f) {
    return e.LoadExact(ConstantOf(f, ComputedAs(dtype)), dtype);
  };
  const TileValue x = e.Load(tensors[0]);
  const auto times = [&](TileValue value, double factor) {
    return factor == 1 ? value : e.Apply(TileOp::kMul, {value, number(factor)});
  };
  const TileValue bent =
      times(e.Apply(TileOp::kExpm1, {times(x, input_scale)}), negative);
  const TileValue is_positive =
      e.ApplyTo(DType::kBool, TileOp::kGt, {x, number(0)});
  call.Return(out);
  return EmitOr(call, e,
                e.Apply(TileOp::kWhere, {is_positive, times(x, scale), bent}));
}

bool Elu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const double alpha = call.Float(1), scale = call.Float(2);
  const double input_scale = call.Float(3);
  if (scale == 1 && input_scale == 1) {
    return UnaryWith(b, call, TileOp::kElu, alpha, 0);
  }
  return EluWith(b, call, alpha * scale, scale, input_scale);
}

bool Celu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const double alpha = call.Float(1);
  if (alpha == 0) return call.Fail("celu needs an alpha other than 0");
  return EluWith(b, call, alpha, 1, 1 / alpha);
}

bool Selu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return EluWith(b, call, kAlpha * kScale, kScale, 1);
}

bool Softplus(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return UnaryWith(b, call, TileOp::kSoftplus, call.Float(1), call.Float(2));
}

bool SoftShrink(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const double lambda = call.Float(1);
  if (lambda < 0) return call.Fail("lambda is negative");
  return UnaryWith(b, call, TileOp::kSoftShrink, lambda, 0);
}

// What lies in [-lambda, lambda] becomes 0.
bool HardShrink(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor tensors[] = {call.tensor(0)};
  const DType dtype = tensors[0].dtype();
  const double lambda = call.Float(1);
  Tensor out;
  if (!NewResult(b, call, dtype, tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const auto number = [&](double f) {
    return e.LoadExact(ConstantOf(f, ComputedAs(dtype)), dtype);
  };
  const TileValue x = e.Load(tensors[0]);
  const TileValue is_small =
      e.Apply(TileOp::kAnd,
              {e.ApplyTo(DType::kBool, TileOp::kGe, {x, number(-lambda)}),
               e.ApplyTo(DType::kBool, TileOp::kLe, {x, number(lambda)})});
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kWhere, {is_small, number(0), x}));
}

// What doesn't exceed the threshold becomes `value`.
bool Threshold(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor tensors[] = {call.tensor(0)};
  const DType dtype = tensors[0].dtype();
  const RuntimeValue threshold = call.Scalar(1), value = call.Scalar(2);
  Tensor out;
  if (!CheckFits(call, threshold, dtype) || !CheckFits(call, value, dtype) ||
      !NewResult(b, call, dtype, tensors, &out)) {
    return false;
  }
  PointwiseBuilder e(&b, out, tensors);
  const auto number = [&](const RuntimeValue& scalar) {
    return e.LoadExact(ConstantOf(scalar, ComputedAs(dtype)), dtype);
  };
  const TileValue x = e.Load(tensors[0]);
  const TileValue is_small =
      e.ApplyTo(DType::kBool, TileOp::kLe, {x, number(threshold)});
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kWhere, {is_small, number(value), x}));
}

bool EmitPrelu(PlanBuilder& b, KernelCall& call, const Tensor& weight) {
  const Tensor tensors[] = {call.tensor(0), weight};
  const DType dtype = tensors[0].dtype();
  Sizes sizes;
  if (weight.dtype() != dtype || !BroadcastSizes(tensors, &sizes)) {
    return call.Fail("the weight doesn't fit");
  }
  const Tensor out = b.NewTensor(dtype, sizes, LikeStrides(tensors[0]));
  if (!out.defined()) return call.Fail("the result is too large");
  PointwiseBuilder e(&b, out, tensors);
  const TileValue x = e.Load(tensors[0]);
  const TileValue zero = e.Load(ConstantOf(0.0, dtype));
  const TileValue is_positive = e.ApplyTo(DType::kBool, TileOp::kGt, {x, zero});
  const TileValue scaled = e.Apply(TileOp::kMul, {e.Load(weight), x});
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kWhere, {is_positive, x, scaled}));
}

bool PreluKernel(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return EmitPrelu(b, call, call.tensor(1));
}

// One weight for all, or one per channel: dimension 1.
bool Prelu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor &self = call.tensor(0), &weight = call.tensor(1);
  const int64_t channels = self.dim() < 2 ? 1 : self.size(1);
  if (weight.dim() > 1 || (weight.numel() != 1 && weight.numel() != channels)) {
    return call.Fail("prelu has " + weight.ToString() + " for " +
                     std::to_string(channels) + " channels");
  }
  Sizes sizes(self.sizes().size(), 1), strides(self.sizes().size(), 0);
  if (sizes.size() > 1) {
    sizes[1] = weight.numel();
    if (weight.dim() == 1) strides[1] = weight.stride(0);
  }
  return EmitPrelu(b, call, weight.View(sizes, strides, weight.offset()));
}

// The first half of a dimension, times the sigmoid of the second.
bool Glu(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  int64_t dim = call.Int(1);
  if (self.dim() == 0) return call.Fail("glu needs a dimension to halve");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (self.size(dim) % 2 != 0) {
    return call.Fail("glu needs a dimension of even size");
  }
  const int64_t half = self.size(dim) / 2;
  const Tensor tensors[] = {Narrowed(self, dim, 0, half),
                            Narrowed(self, dim, half, half)};
  Tensor out;
  if (!NewResult(b, call, self.dtype(), tensors, &out)) return false;
  PointwiseBuilder e(&b, out, tensors);
  const TileValue gate = e.Apply(TileOp::kSigmoid, {e.Load(tensors[1])});
  call.Return(out);
  return EmitOr(call, e, e.Apply(TileOp::kMul, {e.Load(tensors[0]), gate}));
}

bool Relu6(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ClampWithin(b, call, int64_t{0}, int64_t{6});
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloating = DTypeRule::kFloating;

constexpr Lowering kLowerings[] = {
    UnaryOperator("aten.relu.default", TileOp::kRelu, DTypeRule::kNumbers),
    {"aten.relu6.default", kPure, Relu6, DTypeRule::kNumbers},
    UnaryOperator("aten.silu.default", TileOp::kSilu, kFloating),
    UnaryOperator("aten.mish.default", TileOp::kMish, kFloating),
    UnaryOperator("aten.log_sigmoid.default", TileOp::kLogSigmoid, kFloating),
    UnaryOperator("aten.hardsigmoid.default", TileOp::kHardSigmoid, kFloating),
    UnaryOperator("aten.hardswish.default", TileOp::kHardSwish, kFloating),
    {"aten.gelu.default", kPure, Gelu, kFloating},
    {"aten.leaky_relu.default", kPure, LeakyRelu, kFloating},
    {"aten.elu.default", kPure, Elu, kFloating},
    {"aten.celu.default", kPure, Celu, kFloating},
    {"aten.selu.default", kPure, Selu, kFloating},
    {"aten.softplus.default", kPure, Softplus, kFloating},
    {"aten.hardtanh.default", kPure, HardTanh, DTypeRule::kNumbers},
    {"aten.softshrink.default", kPure, SoftShrink, kFloating},
    {"aten.hardshrink.default", kPure, HardShrink, kFloating},
    {"aten.threshold.default", kPure, Threshold, DTypeRule::kNumbers},
    {"aten.prelu.default", kPure, Prelu, kFloating},
    {"aten._prelu_kernel.default", kPure, PreluKernel, kFloating},
    {"aten.glu.default", kPure, Glu, kFloating},
};

}  // namespace

std::span<const Lowering> ActivationLowerings() { return kLowerings; }

}  // namespace tenon::cpu
