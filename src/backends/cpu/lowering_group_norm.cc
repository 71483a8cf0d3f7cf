// Norms over groups of channels: group_norm, instance_norm; and weight_norm.
//
// One step measures the groups, in whichever order the channels lie. The rest
// is elementwise, (x - mean) * scale + bias with weight / deviation as scale,
// so that it merges with an activation. What is per group is laid out per
// channel first.
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/loops/loops.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/plan_chain.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

class GroupMomentsStep : public Step {
 public:
  struct Places {
    Ref x, mean, deviation, scratch;
    bool is_channels_last = false;
  };
  GroupMomentsStep(const MomentArgs& args, const Places& places)
      : args_(args), at_(places) {}

  static int64_t ScratchBytes(const MomentArgs& args) {
    return args.channels *
           static_cast<int64_t>(sizeof(double) + 2 * sizeof(float));
  }

  bool Run(Frame& frame) override {
    MomentArgs args = args_;
    args.mean = frame.at<float>(at_.mean);
    args.inverse_deviation = frame.at<float>(at_.deviation);
    const float* x = frame.at<float>(at_.x);
    if (at_.is_channels_last) {
      BestLoops().group_moments_last(x, args, frame.at<double>(at_.scratch));
    } else {
      BestLoops().group_moments(x, args);
    }
    return true;
  }
  std::string_view name() const override { return "group_moments"; }

 private:
  const MomentArgs args_;
  const Places at_;
};

struct GroupNorm {
  Tensor x;  // [batch, channels, ...]
  Tensor weight, bias;
  int64_t batch = 0, channels = 0, groups = 1;
  double eps = 0;
  MemoryFormat format = MemoryFormat::kContiguous;  // of the result
};

// [batch, groups] statistics.
bool Measure(PlanBuilder& b, KernelCall& call, const GroupNorm& norm,
             const Tensor& mean, const Tensor& deviation) {
  MomentArgs args;
  args.batch = norm.batch;
  args.channels = norm.channels;
  args.groups = norm.groups;
  args.pixels = norm.x.numel() / (norm.batch * norm.channels);
  args.eps = norm.eps;
  const Tensor last = norm.x.size(0) == norm.batch && norm.x.dim() >= 3
                          ? b.FindChannelsLast(norm.x)
                          : Tensor();
  const Tensor x = last.defined() ? last : b.Contiguous(norm.x);
  const Tensor scratch = NewScratch(b, GroupMomentsStep::ScratchBytes(args));
  if (!x.defined() || !scratch.defined()) {
    return call.Fail("cannot copy " + norm.x.ToString());
  }
  const Tensor reads[] = {x};
  const Tensor writes[] = {mean, deviation, scratch};
  b.Emit(std::make_unique<GroupMomentsStep>(
             args, GroupMomentsStep::Places{b.RefOf(x), b.RefOf(mean),
                                            b.RefOf(deviation),
                                            b.RefOf(scratch), last.defined()}),
         reads, writes);
  return true;
}

// values[n, group of c] * weight[c], laid out by sample and channel: as many
// dimensions as the input has, all but the first two of size 1.
Tensor PerChannel(PlanBuilder& b, const GroupNorm& norm, const Tensor& values,
                  const Tensor& weight) {
  const int64_t width = norm.channels / norm.groups;
  const Sizes grouped = {norm.batch, norm.groups, width};
  const Tensor out = b.NewTensor(DType::kFloat32, grouped);
  if (!out.defined()) return out;
  PointwiseBuilder e(&b, out);
  TileValue value =
      e.Load(values.View(grouped, {norm.groups, 1, 0}, values.offset()));
  if (weight.defined()) {
    const int64_t stride = weight.stride(0);
    value =
        e.Apply(TileOp::kMul,
                {value, e.Load(weight.View(grouped, {0, stride * width, stride},
                                           weight.offset()))});
  } else {
    value = e.Apply(TileOp::kCopy, {value});
  }
  if (!e.Emit(value)) return Tensor();
  Sizes sizes(norm.x.sizes().size(), 1), strides(norm.x.sizes().size(), 0);
  sizes[0] = norm.batch;
  sizes[1] = norm.channels;
  strides[0] = norm.channels;
  strides[1] = 1;
  return out.View(sizes, strides, 0);
}

// x * scale + shift, in one rounding as PyTorch's: a product may leave the
// range that the sum is in.
bool Normalize(PlanBuilder& b, KernelCall& call, const GroupNorm& norm,
               const Tensor& mean, const Tensor& deviation, Tensor* out) {
  const Tensor scale = PerChannel(b, norm, deviation, norm.weight);
  const Tensor centre = PerChannel(b, norm, mean, Tensor());
  if (!scale.defined() || !centre.defined()) {
    return call.Fail("the statistics are too large");
  }
  const Tensor shift =
      b.NewTensor(DType::kFloat32, scale.sizes(), scale.strides());
  *out = b.NewTensor(DType::kFloat32, norm.x.sizes(),
                     StridesFor(norm.x.sizes(), norm.format));
  if (!shift.defined() || !out->defined()) {
    return call.Fail("the result is too large");
  }
  {
    PointwiseBuilder e(&b, shift);
    TileValue value = e.Apply(TileOp::kMul, {e.Load(centre), e.Load(scale)});
    if (norm.bias.defined()) {
      Sizes sizes(norm.x.sizes().size(), 1), strides(norm.x.sizes().size(), 0);
      sizes[1] = norm.channels;
      strides[1] = norm.bias.stride(0);
      const Tensor bias = norm.bias.View(sizes, strides, norm.bias.offset());
      value = e.Apply(TileOp::kSub, {e.Load(bias), value});
    } else {
      value = e.Apply(TileOp::kNeg, {value});
    }
    if (!e.Emit(value)) return call.Fail("cannot compute the shift");
  }
  const Tensor operands[] = {norm.x};
  PointwiseBuilder e(&b, *out, operands);
  return e.Emit(e.Apply(TileOp::kAddcmul,
                        {e.Load(shift), e.Load(norm.x), e.Load(scale)}, 1.0)) ||
         call.Fail("cannot scale the input");
}

bool EmitGroupNorm(PlanBuilder& b, KernelCall& call, GroupNorm norm,
                   bool returns_statistics) {
  if (!NeedFloat32(call, {norm.x, norm.weight, norm.bias})) return false;
  if (norm.groups <= 0 || norm.channels <= 0 || norm.batch < 0 ||
      norm.channels % norm.groups != 0) {
    return call.Fail(std::to_string(norm.channels) +
                     " channels aren't divisible by " +
                     std::to_string(norm.groups) + " groups");
  }
  for (const Tensor& t : {norm.weight, norm.bias}) {
    if (t.defined() && t.sizes() != Sizes{norm.channels}) {
      return call.Fail("expected weight and bias of " +
                       std::to_string(norm.channels) + " elements, found " +
                       t.ToString());
    }
  }
  const Tensor mean = b.NewTensor(DType::kFloat32, {norm.batch, norm.groups});
  const Tensor deviation =
      b.NewTensor(DType::kFloat32, {norm.batch, norm.groups});
  Tensor out;
  if (!mean.defined() || !deviation.defined()) {
    return call.Fail("the statistics are too large");
  }
  if (norm.x.numel() == 0) {
    if (norm.batch > 0) return call.Fail("no elements per channel");
    out = b.NewTensor(DType::kFloat32, norm.x.sizes(),
                      StridesFor(norm.x.sizes(), norm.format));
  } else if (!Measure(b, call, norm, mean, deviation) ||
             !Normalize(b, call, norm, mean, deviation, &out)) {
    return false;
  }
  call.Return(out);
  if (returns_statistics) {
    call.Return(mean);
    call.Return(deviation);
  }
  return true;
}

// (input, num_groups, weight, bias, eps, ..)
bool GroupNormOnly(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& x = call.tensor(0);
  if (x.dim() < 2) return call.Fail("expected at least 2 dimensions");
  return EmitGroupNorm(
      b, call,
      {x, call.OptionalTensor(2), call.OptionalTensor(3), x.size(0), x.size(1),
       call.Int(1), call.Float(4), SuggestedFormat(x)},
      false);
}

// (input, weight, bias, N, C, HxW, group, eps): input of any sizes.
bool NativeGroupNorm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& x = call.tensor(0);
  const int64_t batch = call.Int(3), channels = call.Int(4);
  const int64_t pixels = call.Int(5);
  if (!CheckSizes(call, {batch, channels, pixels})) return false;
  if (batch * channels * pixels != x.numel()) {
    return call.Fail("the input doesn't have N * C * HxW elements");
  }
  GroupNorm norm = {x,
                    call.OptionalTensor(1),
                    call.OptionalTensor(2),
                    batch,
                    channels,
                    call.Int(6),
                    call.Float(7),
                    SuggestedFormat(x)};
  if (x.dim() < 2 || x.size(0) != batch || x.size(1) != channels) {
    const Tensor flat = b.Contiguous(x);
    if (!flat.defined()) return call.Fail("cannot copy " + x.ToString());
    const Sizes sizes = {batch, channels, pixels};
    norm.x = flat.View(sizes, ContiguousStrides(sizes), flat.offset());
    norm.format = MemoryFormat::kContiguous;
    if (!EmitGroupNorm(b, call, norm, true)) return false;
    Tensor out = call.results()[0].tensor();
    out = InFormat(b, out.View(x.sizes(), ContiguousStrides(x.sizes()), 0),
                   SuggestedFormat(x));
    if (!out.defined()) return call.Fail("the result is too large");
    call.results()[0] = out;
    return true;
  }
  return EmitGroupNorm(b, call, norm, true);
}

// Every channel is a group.
bool InstanceNorm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& x = call.tensor(0);
  if (x.dim() < 2 || x.numel() == 0) {
    return call.Fail("expected elements and at least 2 dimensions");
  }
  return EmitGroupNorm(b, call,
                       {x, call.OptionalTensor(1), call.OptionalTensor(2),
                        x.size(0), x.size(1), x.size(1), call.Float(7)},
                       false);
}

// Running statistics would be read, or written.
std::optional<Refusal> RefuseRunning(const Program& program, NodeId node) {
  const Arg* stats = program.FindArg(node, "use_input_stats");
  for (const char* name : {"running_mean", "running_var"}) {
    const Arg* running = program.FindArg(node, name);
    if (running != nullptr && running->kind != ArgKind::kNone) {
      return Refusal{RefusalReason::kAttributeValue,
                     "instance_norm with running statistics"};
    }
  }
  if (stats != nullptr && stats->kind == ArgKind::kBool && stats->i != 0) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kAttributeValue,
                 "instance_norm without the input's statistics"};
}

// --- weight norm ---

// v * g / |v|, the norm over all dimensions but `dim`.
bool WeightNorm(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor &v = call.tensor(0), &g = call.tensor(1);
  int64_t dim = call.Int(2);
  if (v.dim() == 0 || v.dtype() != g.dtype()) {
    return call.Fail("expected tensors of one dtype");
  }
  if (!WrapDim(call, v.dim(), &dim)) return false;
  if (g.numel() != v.size(dim)) {
    return call.Fail("g should have one element per slice");
  }
  std::vector<int64_t> others, sizes(v.sizes().size(), 1);
  for (int64_t d = 0; d < v.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  sizes[static_cast<size_t>(dim)] = v.size(dim);
  PlanChain chain(b, call);
  const Tensor norm = others.empty()
                          ? chain("aten.abs.default", {v})
                          : chain("aten.linalg_vector_norm.default",
                                  {v, int64_t{2}, IntList(others), true});
  const Tensor factor =
      chain("aten.div.Tensor", {chain.Reshape(g, sizes), norm});
  const Tensor product = chain("aten.mul.Tensor", {v, factor});
  return chain.ok() && chain.Return({b.Contiguous(product)});
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloat32 = DTypeRule::kOnlyFloat32;

constexpr Lowering kLowerings[] = {
    {"aten.group_norm.default", kPure, GroupNormOnly, kFloat32},
    {"aten.native_group_norm.default", kPure, NativeGroupNorm, kFloat32},
    {"aten.instance_norm.default", kPure, InstanceNorm, kFloat32, TileOp::kCopy,
     RefuseRunning},
    {"aten._weight_norm.default", kPure, WeightNorm, DTypeRule::kWidened},
};

}  // namespace

std::span<const Lowering> GroupNormLowerings() { return kLowerings; }

}  // namespace tenon::cpu
