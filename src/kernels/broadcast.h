// Broadcasting, and the strides of elementwise results.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace tenon {

// The sizes that both expand to; false when a dimension differs and neither
// is 1.
bool BroadcastSizes(const Sizes& a, const Sizes& b, Sizes* out);
// Of all; undefined tensors don't count.
bool BroadcastSizes(std::span<const Tensor> tensors, Sizes* out);
// Whether `from` expands to exactly `to`.
bool BroadcastsTo(const Sizes& from, const Sizes& to);

// A view of `tensor` expanded to sizes that it broadcasts to.
Tensor ExpandTo(const Tensor& tensor, const Sizes& sizes);

// TensorIterator's rule for results it allocates: the operands' permutation is
// kept. Operands agree: all contiguous, all channels_last, or all of the same
// dense strides, and the result is alike. Otherwise dimensions are sorted by
// the first operand that has an opinion. Undefined operands don't count.
Sizes ResultStrides(const Sizes& sizes, std::span<const Tensor> operands);

// Strides of a memory format for sizes of 4 (channels_last) or 5
// (channels_last_3d) dimensions.
Sizes ChannelsLastStrides(const Sizes& sizes);
bool IsChannelsLast(const Tensor& tensor);  // is_contiguous(format)
bool IsChannelsLast3d(const Tensor& tensor);

// A fresh tensor, or false with call.Fail said ("out of memory: ...").
bool Allocate(KernelCall& call, DType dtype, Sizes sizes, Tensor* out);
bool Allocate(KernelCall& call, DType dtype, Sizes sizes, Sizes strides,
              Tensor* out);

// "[2, 3]".
std::string ToText(const Sizes& sizes);

}  // namespace tenon
