// Results that are a copy of a tensor or full of one number, and the arguments
// that say of which dtype and memory format.
#pragma once

#include "backends/cpu/plan_builder.h"
#include "kernels/kernel.h"

namespace tenon::cpu {

// Returns a copy of `from` in a dtype, with strides for its sizes. Those who
// compute with it may read a narrow `from` instead.
bool ReturnCopy(PlanBuilder& b, KernelCall& call, const Tensor& from,
                DType dtype, Sizes strides);

// Returns a tensor full of a scalar.
bool ReturnFilled(PlanBuilder& b, KernelCall& call, DType dtype,
                  const Sizes& sizes, Sizes strides,
                  const RuntimeValue& scalar);

// What None stands for otherwise.
DType DTypeOr(const RuntimeValue& dtype, DType otherwise);

// kPreserve for None.
MemoryFormat FormatOf(const RuntimeValue& format);

// Fails the call when the format is for tensors of another rank.
bool FormatFits(KernelCall& call, const Tensor& self, MemoryFormat format);

// Whether different indices reach one element.
bool HasOverlap(const Tensor& t);

}  // namespace tenon::cpu
