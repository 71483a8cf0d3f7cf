// Convolution over one to three spatial dimensions, forward and transposed.
#pragma once

#include "kernels/kernel.h"

namespace tenon {

struct ConvolutionOptions {
  // One entry per spatial dimension, or a single one for all.
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
};

// input [N, C, ...], weight [O, C / groups, ...] (transposed: [C, O / groups,
// ...]), bias [O] or undefined.
bool Convolve(KernelCall& call, const Tensor& input, const Tensor& weight,
              const Tensor& bias, ConvolutionOptions options, Tensor* out);

}  // namespace tenon
