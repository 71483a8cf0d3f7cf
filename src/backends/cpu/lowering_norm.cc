// Layer norm and RMS norm along rows, batch norm with given statistics.
#include <algorithm>
#include <limits>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/loops/loops.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

struct LayerNormShape {
  int64_t rows = 0, size = 0;
  double eps = 0;
  Ref x, out, weight, bias, mean, deviation;
  bool has_weight = false, has_bias = false, has_statistics = false;
  bool is_rms = false;
};

class LayerNormStep : public Step {
 public:
  explicit LayerNormStep(const LayerNormShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    NormArgs args;
    args.rows = s_.rows;
    args.size = args.x_step = s_.size;
    args.eps = s_.eps;
    if (s_.has_weight) args.weight = frame.at<float>(s_.weight);
    if (s_.has_bias) args.bias = frame.at<float>(s_.bias);
    if (s_.has_statistics) {
      args.mean = frame.at<float>(s_.mean);
      args.inverse_deviation = frame.at<float>(s_.deviation);
    }
    const Loops& loops = BestLoops();
    (s_.is_rms ? loops.rms_norm : loops.layer_norm)(
        frame.at<float>(s_.x), frame.at<float>(s_.out), args);
    return true;
  }
  std::string_view name() const override { return "layer_norm"; }

 private:
  const LayerNormShape s_;
};

struct LayerNormCall {
  Tensor weight, bias;
  double eps = 0;
  bool returns_statistics = false;
  bool is_rms = false;
};

bool Normalize(PlanBuilder& b, KernelCall& call, const LayerNormCall& norm) {
  const Sizes normalized = call.Ints(1);
  const Tensor x = b.Contiguous(call.tensor(0));
  if (!x.defined()) return call.Fail("cannot copy the input");
  if (!NeedFloat32(call, {x, norm.weight, norm.bias})) return false;
  const size_t rank = x.sizes().size(), inner = normalized.size();
  if (inner == 0 || inner > rank ||
      !std::equal(normalized.begin(), normalized.end(),
                  x.sizes().end() - static_cast<int64_t>(inner))) {
    return call.Fail("normalized_shape " + ToText(normalized) +
                     " isn't the end of " + ToText(x.sizes()));
  }
  Tensor weight, bias;
  for (const auto& [given, used] :
       {std::pair{&norm.weight, &weight}, std::pair{&norm.bias, &bias}}) {
    if (!given->defined()) continue;
    if (given->sizes() != normalized) {
      return call.Fail("weight or bias " + given->ToString() +
                       " isn't of sizes " + ToText(normalized));
    }
    *used = b.Contiguous(*given);
    if (!used->defined()) return call.Fail("cannot copy weight or bias");
  }
  Sizes statistics(x.sizes().begin(),
                   x.sizes().end() - static_cast<int64_t>(inner));
  LayerNormShape s;
  s.rows = NumElements(statistics);
  s.size = NumElements(normalized);
  s.eps = norm.eps;
  s.is_rms = norm.is_rms;
  statistics.insert(statistics.end(), inner, 1);
  Sizes strides = ContiguousStrides(x.sizes());
  if (norm.is_rms && x.numel() == 0) {
    // PyTorch's is a product, whose strides say what its operands' do.
    const Tensor factor = x.View(statistics, ContiguousStrides(statistics), 0);
    strides = ResultStrides(x.sizes(), std::vector{call.tensor(0), factor});
    if (norm.weight.defined()) {
      const Tensor product = x.View(x.sizes(), strides, 0);
      strides = ResultStrides(x.sizes(), std::vector{product, norm.weight});
    }
  }
  const Tensor out = b.NewTensor(DType::kFloat32, x.sizes(), strides);
  Tensor mean, deviation;
  if (norm.returns_statistics) {
    mean = b.NewTensor(DType::kFloat32, statistics);
    deviation = b.NewTensor(DType::kFloat32, statistics);
  }
  if (!out.defined() || (norm.returns_statistics && !mean.defined())) {
    return call.Fail("the result is too large");
  }
  call.Return(out);
  if (norm.returns_statistics) {
    call.Return(mean);
    call.Return(deviation);
  }
  if (out.numel() == 0) {
    return !norm.returns_statistics || s.rows == 0 ||
           call.Fail("statistics of rows without elements");
  }
  s.x = b.RefOf(x);
  s.out = b.RefOf(out);
  s.has_weight = weight.defined();
  s.has_bias = bias.defined();
  s.has_statistics = norm.returns_statistics;
  if (s.has_weight) s.weight = b.RefOf(weight);
  if (s.has_bias) s.bias = b.RefOf(bias);
  if (s.has_statistics) {
    s.mean = b.RefOf(mean);
    s.deviation = b.RefOf(deviation);
  }
  const Tensor reads[] = {x, weight, bias};
  const Tensor writes[] = {out, mean, deviation};
  b.Emit(std::make_unique<LayerNormStep>(s), reads, writes);
  return true;
}

bool LayerNorm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Normalize(b, call,
                   {call.OptionalTensor(2), call.OptionalTensor(3),
                    call.Float(4), false, false});
}

bool NativeLayerNorm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Normalize(b, call,
                   {call.OptionalTensor(2), call.OptionalTensor(3),
                    call.Float(4), true, false});
}

bool RmsNorm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const double eps =
      call.is_none(3)
          ? static_cast<double>(std::numeric_limits<float>::epsilon())
          : call.Float(3);
  return Normalize(b, call,
                   {call.OptionalTensor(2), Tensor(), eps, false, true});
}

// --- batch norm ---

// One value per channel: x * scale + shift with
//   scale = weight / sqrt(var + eps)
//   shift = bias - mean * scale
bool BatchNormWith(PlanBuilder& b, KernelCall& call, double eps) {
  const Tensor x = call.tensor(0);
  const Tensor weight = call.OptionalTensor(1), bias = call.OptionalTensor(2);
  const Tensor mean = call.OptionalTensor(3), var = call.OptionalTensor(4);
  if (!NeedFloat32(call, {x, weight, bias, mean, var})) return false;
  if (x.dim() < 2 || !mean.defined() || !var.defined()) {
    return call.Fail("expected channels and statistics");
  }
  const int64_t channels = x.size(1);
  for (const Tensor& t : {weight, bias, mean, var}) {
    if (t.defined() && t.sizes() != Sizes{channels}) {
      return call.Fail(t.ToString() + " for " + std::to_string(channels) +
                       " channels");
    }
  }
  const Tensor scale = b.NewTensor(DType::kFloat32, {channels});
  const Tensor shift = b.NewTensor(DType::kFloat32, {channels});
  {
    PointwiseBuilder e(&b, scale);
    const TileValue epsilon = e.Load(ConstantOf(eps, DType::kFloat32));
    TileValue value = e.Apply(TileOp::kRsqrt,
                              {e.Apply(TileOp::kAdd, {e.Load(var), epsilon})});
    if (weight.defined()) {
      value = e.Apply(TileOp::kMul, {value, e.Load(weight)});
    }
    if (!e.Emit(value)) return call.Fail("cannot compute the scale");
  }
  {
    PointwiseBuilder e(&b, shift);
    TileValue value = e.Apply(TileOp::kMul, {e.Load(mean), e.Load(scale)});
    value = bias.defined() ? e.Apply(TileOp::kSub, {e.Load(bias), value})
                           : e.Apply(TileOp::kNeg, {value});
    if (!e.Emit(value)) return call.Fail("cannot compute the shift");
  }
  const MemoryFormat format = SuggestedFormat(x);
  const Tensor out =
      b.NewTensor(DType::kFloat32, x.sizes(), StridesFor(x.sizes(), format));
  if (!out.defined()) return call.Fail("the result is too large");
  Sizes per_channel(x.sizes().size() - 1, 1);
  per_channel[0] = channels;
  const Sizes strides = ContiguousStrides(per_channel);
  const Tensor operands[] = {x};
  PointwiseBuilder e(&b, out, operands);
  const TileValue product = e.Apply(
      TileOp::kMul, {e.Load(x), e.Load(scale.View(per_channel, strides, 0))});
  call.Return(out);
  return e.Emit(
             e.Apply(TileOp::kAdd,
                     {product, e.Load(shift.View(per_channel, strides, 0))})) ||
         call.Fail("cannot scale the input");
}

bool BatchNorm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (call.Bool(5)) return call.Fail("training updates the statistics");
  return BatchNormWith(b, call, call.Float(7));
}

bool BatchNormInference(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (!BatchNormWith(b, call, call.Float(6))) return false;
  call.Return(b.NewTensor(DType::kFloat32, {0}));
  call.Return(b.NewTensor(DType::kFloat32, {0}));
  return true;
}

std::optional<Refusal> RefuseTraining(const Program& program, NodeId node) {
  const Arg* training = program.FindArg(node, "training");
  if (training != nullptr && training->kind == ArgKind::kBool &&
      training->i == 0) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kEffect,
                 "batch norm in training writes its statistics"};
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloat32 = DTypeRule::kOnlyFloat32;

constexpr Lowering kLowerings[] = {
    {"aten.layer_norm.default", kPure, LayerNorm, kFloat32},
    {"aten.native_layer_norm.default", kPure, NativeLayerNorm, kFloat32},
    {"aten.rms_norm.default", kPure, RmsNorm, kFloat32},
    {"aten.batch_norm.default", kPure, BatchNorm, kFloat32, TileOp::kCopy,
     RefuseTraining},
    {"aten._native_batch_norm_legit_no_training.default", kPure,
     BatchNormInference, kFloat32},
};

}  // namespace

std::span<const Lowering> NormLowerings() { return kLowerings; }

}  // namespace tenon::cpu
