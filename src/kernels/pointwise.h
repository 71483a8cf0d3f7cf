// The parts of the pointwise family, one per file pointwise_*.cc.
#pragma once

#include <span>

#include "kernels/kernel.h"

namespace tenon {

std::span<const KernelEntry> ArithmeticKernels();
std::span<const KernelEntry> ComparisonKernels();
std::span<const KernelEntry> BitwiseKernels();
std::span<const KernelEntry> UnaryKernels();
std::span<const KernelEntry> ActivationKernels();
std::span<const KernelEntry> CastKernels();
std::span<const KernelEntry> SpecialKernels();

}  // namespace tenon
