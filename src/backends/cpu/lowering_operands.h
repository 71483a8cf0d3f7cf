// Questions that several lowerings ask of their operands.
#pragma once

#include <optional>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/plan_builder.h"
#include "kernels/kernel.h"

namespace tenon::cpu {

// Fails the call unless every defined tensor is float32.
bool NeedFloat32(KernelCall& call, std::initializer_list<Tensor> tensors);

// Whether the tensor's dtype is one that indices have.
bool IsIndex(const Tensor& t);

// Fails the call when a batch has more matrices than a plan can list.
bool NeedListable(KernelCall& call, const Sizes& batch);

// The start of each of the sub-tensors that the leading dimensions of `sizes`
// number, in row-major order, relative to the tensor's first element.
std::vector<int64_t> OffsetsOf(const Sizes& sizes, const Sizes& strides,
                               size_t num_leading);

// A matrix in the last two dimensions whose rows (or columns, if
// `allow_columns`) have unit step; a copy where the strides are neither.
Tensor WithUnitStep(PlanBuilder& builder, const Tensor& tensor,
                    bool allow_columns);

// The steps between rows and columns of such a matrix, one of which is 1. Those
// along dimensions of size 1, which say nothing, are what the loops expect.
void SetMatrixSteps(const Tensor& matrix, int64_t* row, int64_t* column);

// `value` is contiguous; the result has its elements in the memory format.
Tensor InFormat(PlanBuilder& builder, const Tensor& value, MemoryFormat format);

// Why an operator whose `dtype` argument is neither float32 nor one of
// `others`, nor half precision that its first tensor has already, is refused.
std::optional<Refusal> RefuseOtherResult(const Program& program, NodeId node,
                                         std::initializer_list<DType> others);

// Memory of the arena that belongs to one step, for as long as it runs.
Tensor NewScratch(PlanBuilder& builder, int64_t size_bytes);

}  // namespace tenon::cpu
