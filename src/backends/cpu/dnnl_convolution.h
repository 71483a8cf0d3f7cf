// Convolutions by oneDNN.
#pragma once

#include <memory>

#include "backends/cpu/fused_convolution.h"

namespace tenon::cpu {

// Whether oneDNN has a fast kernel for the shape, post-ops included.
bool HasDnnlConvolution(const FusedConvolutionShape& shape);
// Null when oneDNN fails.
std::unique_ptr<ConvolutionKernel> MakeDnnlConvolution(
    const FusedConvolutionShape& shape);

}  // namespace tenon::cpu
