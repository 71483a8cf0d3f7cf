// What products with integer weights ask of their operands. Each fails the call
// and returns false where dtypes or sizes don't fit.
#pragma once

#include "kernels/kernel.h"

namespace tenon {

// aten._int_mm: [m, k] int8 or uint8, [k, n] int8.
bool CheckIntMm(KernelCall& call);
// aten._weight_int8pack_mm: [m, k], [n, k] int8, n scales.
bool CheckInt8PackMm(KernelCall& call);
// aten._weight_int4pack_mm_for_cpu: [m, k], [n, k / 2] uint8, the group size,
// [k / group, n, 2] scales and zero points.
bool CheckInt4PackMm(KernelCall& call);

}  // namespace tenon
