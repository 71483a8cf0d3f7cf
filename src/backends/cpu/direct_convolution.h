// Small convolutions by own loops. A call of oneDNN costs more than most of
// them, and its kernels for channels last want sixteen of them.
//
// Where each output pixel's taps lie in the input is written down when a plan
// is made, taps outside of it as such: a run neither copies the input nor tests
// where it ends. Bounds keep NaN.
#pragma once

#include <memory>

#include "backends/cpu/fused_convolution.h"

namespace tenon::cpu {

// Whether the loops can do the shape with its post-ops, and are faster at it
// than oneDNN.
bool HasDirectConvolution(const FusedConvolutionShape& shape);
// Of such a shape.
std::unique_ptr<ConvolutionKernel> MakeDirectConvolution(
    const FusedConvolutionShape& shape);

}  // namespace tenon::cpu
