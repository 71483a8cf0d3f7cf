// The two formulas of affine quantisation, and ranges of integer dtypes.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/compose.h"

namespace tenon {

struct IntegerRange {
  int64_t min = 0, max = 0;
};
// Empty (0, 0) for dtypes that aren't integral.
IntegerRange RangeOf(DType dtype);

// The integers that a quantised value may have. The bounds are numbers, or
// tensors of one element.
struct QuantizedRange {
  RuntimeValue low, high;
  DType dtype;
};

// clamp(q, low, high) in the range's dtype.
Tensor Clamp(OperatorChain& chain, const Tensor& q,
             const QuantizedRange& range);

// clamp(round(x * inverse_scale) + zero, low, high), halves rounded to even.
// `inverse_scale` and `zero` are tensors that broadcast to x, or numbers;
// `zero` may be None.
Tensor Quantize(OperatorChain& chain, const Tensor& x,
                const RuntimeValue& inverse_scale, const RuntimeValue& zero,
                const QuantizedRange& range);

// (q - zero) * scale in the promoted type, then in `dtype`.
Tensor Dequantize(OperatorChain& chain, const Tensor& q,
                  const RuntimeValue& zero, const RuntimeValue& scale,
                  DType dtype);

// The least and the greatest element along `dims` (none: of all), or 0 if that
// is less or greater.
struct ZeroExtrema {
  Tensor low, high;
};
ZeroExtrema FindZeroExtrema(OperatorChain& chain, const Tensor& x,
                            const std::vector<int64_t>& dims, bool keep_dims);

}  // namespace tenon
