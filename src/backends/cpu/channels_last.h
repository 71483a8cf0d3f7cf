// Tensors whose channels, dimension 1, lie next to each other: [N, C, H, W]
// in the order N, H, W, C. Convolutions are fastest there, and elementwise
// steps, pools and joins don't mind.
//
// A program doesn't say so: its tensors have PyTorch's strides, and views and
// outputs are made of those. So a tensor of the plan may have a twin, the same
// elements with their channels last in a buffer of its own. A step that can
// computes the twin, and a copy of the twin into PyTorch's order follows;
// whoever asks for the twin reads that, everybody else reads the copy. When
// nobody reads the copy, it is dropped like any unused step, and its buffer is
// never placed:
//
//   convolution -> twin 1, copy -> x        `x` has no reader: no copy
//   relu(twin 1) -> twin 2, copy -> y       the copy is the region's output
//   return y
//
// A twin is a Tensor with strides: nothing can take it for what it isn't. It
// is forgotten as soon as a step writes the tensor (PlanBuilder::Emit).
#pragma once

#include <memory>

#include "backends/cpu/plan.h"
#include "tensor/tensor.h"

namespace tenon::cpu {

// Of three or four dimensions.
Sizes StridesWithChannelsLast(const Sizes& sizes);
bool HasChannelsLast(const Tensor& tensor);

// Whether one is contiguous, the other has its channels last, and both are
// float32 of equal sizes.
bool DifferInChannelOrder(const Tensor& from, const Tensor& to);
// Copies between such two.
std::unique_ptr<Step> TransposeChannels(const Tensor& from, Ref from_ref,
                                        Ref to_ref);

}  // namespace tenon::cpu
