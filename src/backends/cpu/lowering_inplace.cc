// In-place operators: the functional one, whose result the operand becomes.
//
// Mostly that is a matter of bookkeeping: an operand that fills its buffer is
// from then on found in the buffer of the result, and nothing is copied.
#include <string>
#include <utility>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/promotion.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// "aten.add_.Tensor" -> "aten.add.Tensor".
std::string FunctionalName(std::string_view name) {
  std::string text(name);
  text.erase(text.rfind('.') - 1, 1);
  return text;
}

bool InPlace(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  const std::string name = FunctionalName(self.name);
  const Lowering* functional = FindLowering(name);
  const OpSchema* schema = FindCallSchema(name);
  if (functional == nullptr || schema == nullptr) {
    return call.Fail("no functional form");
  }
  std::vector<RuntimeValue> args;
  for (size_t i = 0; i < call.num_args(); ++i) {
    // A number stays a number: it promotes differently from a tensor.
    const bool is_number = call.is_number(i);
    args.push_back(is_number ? ElementOf(call.tensor(i)) : call.arg(i));
  }
  const Tensor target = call.tensor(0);
  KernelCall inner(*schema, std::move(args));
  if (!functional->lower(b, inner, *functional)) {
    return call.Fail(inner.error());
  }
  Tensor value = inner.results()[0].tensor();
  if (value.sizes() != target.sizes()) {
    return call.Fail("the result of sizes " + ToText(value.sizes()) +
                     " doesn't fit into " + ToText(target.sizes()));
  }
  if (!CanCast(value.dtype(), target.dtype())) {
    return call.Fail("the result's dtype can't be stored in place");
  }
  return b.Overwrite(&call.arg(0).tensor(), value)
             ? (call.Return(call.tensor(0)), true)
             : call.Fail("cannot store the result");
}

bool CopyInPlace(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor source = call.tensor(1);
  Tensor& target = call.arg(0).tensor();
  while (source.dim() > target.dim() && source.size(0) == 1) {
    source = Squeezed(source, 0);
  }
  if (!BroadcastsTo(source.sizes(), target.sizes())) {
    return call.Fail("sizes " + ToText(source.sizes()) +
                     " don't broadcast to " + ToText(target.sizes()));
  }
  // Through a fresh tensor: source and target may overlap.
  const Tensor value =
      b.NewTensor(target.dtype(), target.sizes(), LikeStrides(target));
  if (!value.defined() || !b.EmitCopy(source, value) ||
      !b.Overwrite(&target, value)) {
    return call.Fail("cannot copy " + source.ToString());
  }
  call.Return(target);
  return true;
}

bool FillInPlace(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  Tensor& target = call.arg(0).tensor();
  const RuntimeValue scalar =
      self.op == TileOp::kNot ? RuntimeValue(int64_t{0}) : call.Scalar(1);
  const Tensor value =
      b.NewTensor(target.dtype(), target.sizes(), LikeStrides(target));
  if (!value.defined()) return call.Fail("the target is too large");
  PointwiseBuilder e(&b, value);
  if (!e.Emit(e.Apply(TileOp::kCopy,
                      {e.Load(ConstantOf(scalar, value.dtype()))})) ||
      !b.Overwrite(&target, value)) {
    return call.Fail("cannot fill the target");
  }
  call.Return(target);
  return true;
}

bool Alias(PlanBuilder&, KernelCall& call, const Lowering&) {
  call.Return(call.tensor(0));
  return true;
}

constexpr Lowering In(std::string_view name,
                      DTypeRule rule = DTypeRule::kHeld) {
  return {name, LoweringKind::kInPlace, InPlace, rule};
}

constexpr Lowering kLowerings[] = {
    In("aten.add_.Tensor"),
    In("aten.add_.Scalar"),
    In("aten.sub_.Tensor", DTypeRule::kNumbers),
    In("aten.sub_.Scalar", DTypeRule::kNumbers),
    In("aten.mul_.Tensor"),
    In("aten.mul_.Scalar"),
    In("aten.div_.Tensor", DTypeRule::kFloating),
    In("aten.div_.Scalar", DTypeRule::kFloating),
    In("aten.relu_.default", DTypeRule::kNumbers),
    In("aten.sigmoid_.default", DTypeRule::kFloating),
    In("aten.tanh_.default", DTypeRule::kFloating),
    In("aten.silu_.default", DTypeRule::kFloating),
    In("aten.gelu_.default", DTypeRule::kFloating),
    In("aten.exp_.default", DTypeRule::kFloating),
    In("aten.neg_.default", DTypeRule::kNumbers),
    In("aten.hardtanh_.default", DTypeRule::kFloating),
    In("aten.hardswish_.default", DTypeRule::kFloating),
    In("aten.hardsigmoid_.default", DTypeRule::kFloating),
    In("aten.leaky_relu_.default", DTypeRule::kFloating),
    In("aten.clamp_.default", DTypeRule::kNumbers),
    In("aten.masked_fill_.Scalar"),
    In("aten.masked_fill_.Tensor"),
    {"aten.copy_.default", LoweringKind::kInPlace, CopyInPlace},
    {"aten.fill_.Scalar", LoweringKind::kInPlace, FillInPlace},
    {"aten.zero_.default", LoweringKind::kInPlace, FillInPlace,
     DTypeRule::kHeld, TileOp::kNot},
    {"aten.detach_.default", LoweringKind::kInPlace, Alias},
};

}  // namespace

std::span<const Lowering> InPlaceLowerings() { return kLowerings; }

}  // namespace tenon::cpu
