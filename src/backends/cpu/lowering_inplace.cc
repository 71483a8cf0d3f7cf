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

// With a number, a 0-d tensor, or for kNot with 0.
bool FillInPlace(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  Tensor& target = call.arg(0).tensor();
  const bool is_tensor = self.op != TileOp::kNot && call.arg(1).is_tensor();
  if (is_tensor && call.tensor(1).dim() != 0) {
    return call.Fail("expected a 0-d value, found " +
                     call.tensor(1).ToString());
  }
  const Tensor filler =
      self.op == TileOp::kNot ? ConstantOf(int64_t{0}, target.dtype())
      : is_tensor             ? call.tensor(1)
                              : ConstantOf(call.Scalar(1), target.dtype());
  const Tensor value =
      b.NewTensor(target.dtype(), target.sizes(), LikeStrides(target));
  if (!value.defined()) return call.Fail("the target is too large");
  PointwiseBuilder e(&b, value);
  if (!e.Emit(e.Apply(TileOp::kCopy, {e.LoadAs(filler, value.dtype())})) ||
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
    In("aten.abs_.default", DTypeRule::kNumbers),
    In("aten.floor_.default", DTypeRule::kFloating),
    In("aten.ceil_.default", DTypeRule::kFloating),
    In("aten.round_.default", DTypeRule::kFloating),
    In("aten.trunc_.default", DTypeRule::kFloating),
    In("aten.sqrt_.default", DTypeRule::kFloating),
    In("aten.rsqrt_.default", DTypeRule::kFloating),
    In("aten.reciprocal_.default", DTypeRule::kFloating),
    In("aten.exp2_.default", DTypeRule::kFloating),
    In("aten.expm1_.default", DTypeRule::kFloating),
    In("aten.log_.default", DTypeRule::kFloating),
    In("aten.log2_.default", DTypeRule::kFloating),
    In("aten.log1p_.default", DTypeRule::kFloating),
    In("aten.sin_.default", DTypeRule::kFloating),
    In("aten.cos_.default", DTypeRule::kFloating),
    In("aten.tan_.default", DTypeRule::kFloating),
    In("aten.erf_.default", DTypeRule::kFloating),
    In("aten.elu_.default", DTypeRule::kFloating),
    In("aten.celu_.default", DTypeRule::kFloating),
    In("aten.selu_.default", DTypeRule::kFloating),
    In("aten.mish_.default", DTypeRule::kFloating),
    In("aten.tril_.default"),
    In("aten.triu_.default"),
    In("aten.div_.Tensor_mode", DTypeRule::kNumbers),
    In("aten.div_.Scalar_mode", DTypeRule::kNumbers),
    In("aten.floor_divide_.Scalar", DTypeRule::kNumbers),
    In("aten.remainder_.Tensor", DTypeRule::kNumbers),
    In("aten.remainder_.Scalar", DTypeRule::kNumbers),
    In("aten.fmod_.Tensor", DTypeRule::kNumbers),
    In("aten.fmod_.Scalar", DTypeRule::kNumbers),
    In("aten.clamp_min_.default", DTypeRule::kNumbers),
    In("aten.clamp_max_.default", DTypeRule::kNumbers),
    In("aten.threshold_.default", DTypeRule::kNumbers),
    In("aten.addcmul_.default", DTypeRule::kNumbers),
    In("aten.sign_.default", DTypeRule::kNumbers),
    In("aten.square_.default", DTypeRule::kNumbers),
    In("aten.relu6_.default", DTypeRule::kNumbers),
    In("aten.addcdiv_.default", DTypeRule::kFloating),
    In("aten.bitwise_and_.Tensor", DTypeRule::kBits),
    In("aten.bitwise_and_.Scalar", DTypeRule::kBits),
    In("aten.bitwise_or_.Tensor", DTypeRule::kBits),
    In("aten.bitwise_or_.Scalar", DTypeRule::kBits),
    In("aten.bitwise_xor_.Tensor", DTypeRule::kBits),
    In("aten.bitwise_xor_.Scalar", DTypeRule::kBits),
    In("aten.bitwise_not_.default", DTypeRule::kBits),
    In("aten.scatter_.src"),
    In("aten.scatter_.value"),
    In("aten.scatter_add_.default"),
    In("aten.index_add_.default"),
    In("aten.index_fill_.int_Scalar"),
    In("aten.index_fill_.int_Tensor"),
    In("aten.masked_fill_.Scalar"),
    In("aten.masked_fill_.Tensor"),
    {"aten.copy_.default", LoweringKind::kInPlace, CopyInPlace},
    {"aten.fill_.Scalar", LoweringKind::kInPlace, FillInPlace},
    {"aten.fill_.Tensor", LoweringKind::kInPlace, FillInPlace},
    {"aten.zero_.default", LoweringKind::kInPlace, FillInPlace,
     DTypeRule::kHeld, TileOp::kNot},
    {"aten.detach_.default", LoweringKind::kInPlace, Alias},
};

}  // namespace

std::span<const Lowering> InPlaceLowerings() { return kLowerings; }

}  // namespace tenon::cpu
