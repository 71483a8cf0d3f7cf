// Whether a number fits a dtype, as PyTorch's checked conversions decide.
#pragma once

#include "kernels/kernel.h"

namespace tenon {

// Fails the call when `scalar` would overflow `dtype`: an integer out of
// range (negatives wrap into unsigned kinds), a finite float beyond the
// largest, nan or infinity for an integer, an imaginary part for a real kind.
// Fractions are truncated, not refused.
bool CheckFits(KernelCall& call, const RuntimeValue& scalar, DType dtype);

}  // namespace tenon
