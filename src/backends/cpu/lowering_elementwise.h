// What elementwise operators share: promotion, result, and the forms that most
// of them have.
#pragma once

#include <span>
#include <string_view>

#include "backends/cpu/lowering.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/promotion.h"

namespace tenon::cpu {

// Operations that have no integer form: integers are computed in float32.
bool IsFloatingOp(TileOp op);

// The result of operands that broadcast, in PyTorch's strides.
bool NewResult(PlanBuilder& b, KernelCall& call, DType dtype,
               std::span<const Tensor> tensors, Tensor* out);

// Emits the expression, or fails the call for want of a loop.
bool EmitOr(KernelCall& call, PointwiseBuilder& e, TileValue value);

// What the operands are computed as by `op`.
bool CommonType(KernelCall& call, std::span<const Operand> operands, TileOp op,
                DType* common);

// A number as half precision has it, where that is what operands are.
double RoundedNumber(double number, DType dtype);

// An operand of `op`. Products and quotients see Python's numbers as they are,
// sums don't.
TileValue LoadOperand(PointwiseBuilder& e, const Operand& operand, TileOp op,
                      DType common);

// op(self) with parameters.
bool UnaryWith(PlanBuilder& b, KernelCall& call, TileOp op, double p, double q);
// op(self), or op(self, other) with `alpha` where the schema has it, for
// Lowering::op.
bool Unary(PlanBuilder& b, KernelCall& call, const Lowering& self);
bool Binary(PlanBuilder& b, KernelCall& call, const Lowering& self);

// Rows of a table.
constexpr Lowering UnaryOperator(std::string_view name, TileOp op,
                                 DTypeRule rule = DTypeRule::kHeld) {
  return {name, LoweringKind::kPure, Unary, rule, op};
}
constexpr Lowering BinaryOperator(std::string_view name, TileOp op,
                                  DTypeRule rule = DTypeRule::kHeld) {
  return {name, LoweringKind::kPure, Binary, rule, op};
}

}  // namespace tenon::cpu
