// The Python functions that exported programs call on scalars: operator.*,
// math.*, torch.sym_*.
#pragma once

#include <span>

#include "kernels/kernel.h"

namespace tenon {

std::span<const KernelEntry> PythonFunctionKernels();

}  // namespace tenon
