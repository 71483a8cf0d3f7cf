#include "backends/cpu/lowering_elementwise.h"

#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/narrow_types.h"
#include "kernels/broadcast.h"

namespace tenon::cpu {
namespace {

bool IsComparison(TileOp op) {
  return op == TileOp::kEq || op == TileOp::kNe || op == TileOp::kLt ||
         op == TileOp::kLe || op == TileOp::kGt || op == TileOp::kGe;
}

bool IsTest(TileOp op) {
  return op == TileOp::kIsNan || op == TileOp::kIsInf ||
         op == TileOp::kIsFinite || op == TileOp::kSignBit;
}

double AlphaOf(const KernelCall& call, DType common) {
  const int at = call.schema().FindArg("alpha");
  if (at < 0) return 1.0;
  return RoundedNumber(call.Float(static_cast<size_t>(at)), common);
}

}  // namespace

bool IsFloatingOp(TileOp op) {
  return op == TileOp::kDiv || op == TileOp::kPow || op == TileOp::kAtan2 ||
         (op >= TileOp::kExp && op <= TileOp::kIsInf) ||
         (op >= TileOp::kAcos && op <= TileOp::kLerp);
}

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

double RoundedNumber(double number, DType dtype) {
  if (!IsHalf(dtype)) return number;
  return ElementOf(ConstantOf(number, dtype)).float_value();
}

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
  // Of bools any alpha other than 0 is true.
  if (alpha == 1.0 || (common == DType::kBool && alpha != 0)) {
    value = e.ApplyTo(out.dtype(), self.op, {x, y});
  } else if (common == DType::kBool) {
    value = e.Apply(TileOp::kCopy, {x});
  } else {
    value = e.Apply(TileOp::kAddScaled, {x, y},
                    self.op == TileOp::kSub ? -alpha : alpha);
  }
  call.Return(out);
  return EmitOr(call, e, value);
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

}  // namespace tenon::cpu
