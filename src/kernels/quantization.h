// The two formulas of affine quantisation, and ranges of integer dtypes.
#pragma once

#include <cstdint>

#include "kernels/compose.h"

namespace tenon {

struct IntegerRange {
  int64_t min = 0, max = 0;
};
// Empty (0, 0) for dtypes that aren't integral.
IntegerRange RangeOf(DType dtype);

// clamp(round(x * inverse_scale) + zero, low, high) in `dtype`, halves rounded
// to even. `inverse_scale` and `zero` are tensors that broadcast to x, or
// numbers; `zero` may be None.
struct QuantizedRange {
  RuntimeValue low, high;
  DType dtype;
};
Tensor Quantize(KernelChain& chain, const Tensor& x,
                const RuntimeValue& inverse_scale, const RuntimeValue& zero,
                const QuantizedRange& range);

// (q - zero) * scale in the promoted type, then in `dtype`.
Tensor Dequantize(KernelChain& chain, const Tensor& q, const RuntimeValue& zero,
                  const RuntimeValue& scale, DType dtype);

}  // namespace tenon
