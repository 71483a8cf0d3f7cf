// softmax, _safe_softmax and log_softmax along one dimension.
#include <limits>
#include <string>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/plan_chain.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

class SoftmaxStep : public Step {
 public:
  SoftmaxStep(bool is_log, Ref x, Ref out, RowArgs args)
      : is_log_(is_log), x_(x), out_(out), args_(args) {}

  bool Run(Frame& frame) override {
    const Loops& loops = BestLoops();
    (is_log_ ? loops.log_softmax : loops.softmax)(frame.at<float>(x_),
                                                  frame.at<float>(out_), args_);
    return true;
  }
  std::string_view name() const override { return "softmax"; }

 private:
  const bool is_log_;
  const Ref x_, out_;
  const RowArgs args_;
};

bool Emit(PlanBuilder& b, KernelCall& call, bool is_log) {
  Tensor x = call.tensor(0);
  int64_t dim = call.Int(1);
  if (!NeedFloat32(call, {x})) return false;
  if (!WrapDim(call, x.dim(), &dim)) return false;
  const Tensor out = b.NewTensor(DType::kFloat32, x.sizes());
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  if (out.numel() == 0) return true;
  // Along the last dimension of a contiguous tensor, if need be of a copy.
  const int64_t last = std::max<int64_t>(x.dim() - 1, 0);
  const bool is_last = dim == last;
  if (!is_last) x = Transposed(x, dim, last);
  x = b.Contiguous(x);
  const Tensor rows = is_last ? out : b.NewTensor(DType::kFloat32, x.sizes());
  if (!x.defined() || !rows.defined()) {
    return call.Fail("cannot copy the input");
  }
  RowArgs args;
  args.size = args.x_step = x.dim() == 0 ? 1 : x.size(last);
  args.rows = x.numel() / args.size;
  const Tensor reads[] = {x};
  const Tensor writes[] = {rows};
  b.Emit(std::make_unique<SoftmaxStep>(is_log, b.RefOf(x), b.RefOf(rows), args),
         reads, writes);
  return is_last || b.EmitCopy(Transposed(rows, dim, last), out) ||
         call.Fail("cannot copy the result");
}

bool Softmax(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (!call.is_none(2) && call.arg(2).is_dtype() &&
      call.arg(2).dtype() != DType::kFloat32) {
    return call.Fail("a result other than float32");
  }
  return Emit(b, call, false);
}
bool LogSoftmax(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (!call.is_none(2) && call.arg(2).is_dtype() &&
      call.arg(2).dtype() != DType::kFloat32) {
    return call.Fail("a result other than float32");
  }
  return Emit(b, call, true);
}

// Lines of -inf alone become 0 instead of NaN.
bool SafeSoftmax(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& x = call.tensor(0);
  PlanChain chain(b, call);
  const Tensor shares =
      chain("aten.softmax.int", {x, call.arg(1), call.arg(2)});
  if (x.numel() == 0) return chain.Return({shares});
  const Tensor largest =
      chain("aten.amax.default", {x, IntList({call.Int(1)}), true});
  const Tensor is_empty = chain(
      "aten.eq.Scalar", {largest, -std::numeric_limits<double>::infinity()});
  return chain.Return(
      {chain("aten.masked_fill.Scalar", {shares, is_empty, 0.0})});
}

std::optional<Refusal> RefuseOtherDType(const Program& program, NodeId node) {
  if (auto refusal = RefuseOtherResult(program, node, {})) return refusal;
  const Arg* half = program.FindArg(node, "half_to_float");
  if (half != nullptr && half->kind == ArgKind::kBool && half->i != 0) {
    return Refusal{RefusalReason::kAttributeValue, "half_to_float"};
  }
  return std::nullopt;
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloat32 = DTypeRule::kOnlyFloat32;

constexpr Lowering kLowerings[] = {
    {"aten._safe_softmax.default", kPure, SafeSoftmax, kFloat32, TileOp::kCopy,
     RefuseOtherDType},
    {"aten._softmax.default", kPure, Softmax, kFloat32, TileOp::kCopy,
     RefuseOtherDType},
    {"aten.softmax.int", kPure, Softmax, kFloat32, TileOp::kCopy,
     RefuseOtherDType},
    {"aten._log_softmax.default", kPure, LogSoftmax, kFloat32, TileOp::kCopy,
     RefuseOtherDType},
    {"aten.log_softmax.int", kPure, LogSoftmax, kFloat32, TileOp::kCopy,
     RefuseOtherDType},
};

}  // namespace

std::span<const Lowering> SoftmaxLowerings() { return kLowerings; }

}  // namespace tenon::cpu
