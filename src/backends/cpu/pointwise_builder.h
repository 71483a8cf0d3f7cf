// Builds the tile program of one elementwise operator.
//
//   PointwiseBuilder e(&builder, out);
//   e.Emit(e.Apply(TileOp::kAdd, {e.Load(a), e.Load(b)}));
//
// An operation that has no loop for its type makes the whole expression
// invalid; Emit then gives false.
//
// Elements of a narrow dtype (narrow_types.h) are cast where an operation needs
// them and back by Emit, so what lies between isn't rounded. Moving them
// changes no bit.
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
  // The register holds elements as they are stored, though they are computed as
  // a wider type. False where there is no difference.
  bool is_narrow = false;
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
  // The same of a number that operations see as it is, not rounded to `dtype`.
  TileValue LoadExact(const Tensor& number, DType dtype);
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
  // As `dtype` is computed, and as it is stored.
  TileValue Widened(TileValue value);
  TileValue Narrowed(TileValue value);
  // From elements of one type to those of another, in as many casts as it
  // takes.
  TileRegister Convert(TileRegister from, DType from_type, DType to_type);
  TileAccess Access(const Tensor& tensor, const Sizes& strides);

  PlanBuilder* builder_;
  const Tensor result_;
  Tensor out_;                 // what is written: the result or its twin
  std::vector<size_t> order_;  // dimensions of size > 1, slowest first
  TileProgram program_;
  bool is_valid_ = true;
};

}  // namespace tenon::cpu
