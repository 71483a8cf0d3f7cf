// Builds the tile program of one elementwise operator.
//
//   PointwiseBuilder e(&builder, out);
//   e.Emit(e.Apply(TileOp::kAdd, {e.Load(a), e.Load(b)}));
//
// An operation that has no loop for its type makes the whole expression
// invalid; Emit then gives false.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/pointwise_step.h"
#include "ir/kinds.h"
#include "tensor/tensor.h"

namespace tenon::cpu {

class PlanBuilder;

struct TileValue {
  TileRegister index = 0;
  DType dtype = DType::kUnknown;
};

class PointwiseBuilder {
 public:
  // Every element of `out` is written, in memory order: its own, or that of its
  // twin (channels_last.h), if those of `operands` that have its sizes come
  // with their channels last.
  PointwiseBuilder(PlanBuilder* builder, const Tensor& out,
                   std::span<const Tensor> operands = {});

  // An operand that broadcasts to the sizes of `out`.
  TileValue Load(const Tensor& tensor);
  // The same, cast; constants are cast at once.
  TileValue LoadAs(const Tensor& tensor, DType dtype);
  TileValue Cast(TileValue value, DType dtype);
  // The operands have one dtype; kWhere takes a bool first.
  TileValue Apply(TileOp op, std::initializer_list<TileValue> operands,
                  double p = 0, double q = 0);
  // The operation's result as `dtype`; bool results are stated by the caller.
  TileValue ApplyTo(DType result, TileOp op,
                    std::initializer_list<TileValue> operands, double p = 0,
                    double q = 0);
  // Emits the step. Nothing is emitted for an empty result.
  bool Emit(TileValue result);

 private:
  void BeginProgram();
  TileValue Append(const TileInstruction& code, DType dtype);
  TileAccess Access(const Tensor& tensor, const Sizes& strides);

  PlanBuilder* builder_;
  const Tensor result_;
  Tensor out_;                 // what is written: the result or its twin
  std::vector<size_t> order_;  // dimensions of size > 1, slowest first
  TileProgram program_;
  bool is_valid_ = true;
};

}  // namespace tenon::cpu
