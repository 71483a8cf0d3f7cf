// Transposed convolutions, for the operators that have a flag for them.
#pragma once

#include "backends/cpu/plan_builder.h"
#include "kernels/kernel.h"

namespace tenon::cpu {

struct TransposedConvolution {
  Tensor bias;  // or undefined
  Sizes stride, padding, output_padding, dilation;
  int64_t groups = 1;
};

// Of the call's first two tensors. A float32 result; false after call.Fail.
bool ConvolveTransposed(PlanBuilder& b, KernelCall& call,
                        TransposedConvolution c);

}  // namespace tenon::cpu
