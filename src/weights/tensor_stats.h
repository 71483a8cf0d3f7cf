// What the elements of a tensor are like: range, mean, norm, what isn't finite.
#pragma once

#include <cstdint>
#include <variant>

#include "tensor/tensor.h"

namespace tenon {

// A bound in the kind of number that the dtype holds.
using StatsBound = std::variant<double, int64_t, uint64_t>;

// NaN and infinities are counted and play no further part: range, mean and norm
// are those of the finite elements. For complex numbers the range is that of
// their magnitudes, and a number with one part that isn't finite isn't. bool
// counts as 0 and 1.
struct TensorStats {
  uint64_t num_elements = 0;
  uint64_t num_finite = 0;
  uint64_t num_zero = 0;            // both zeros, of complex numbers both parts
  uint64_t num_nan = 0;             // complex: a part is NaN
  uint64_t num_inf = 0;             // complex: a part is infinite, and none NaN
  StatsBound min = 0.0, max = 0.0;  // of num_finite > 0
  double mean = 0, mean_imaginary = 0;
  double norm = 0;  // the root of the sum of squared magnitudes
};

// Reads each element once, in bounded memory. Sums are doubles in a fixed
// order, scaled where float64 would overflow: same tensor, same bits.
TensorStats ComputeStats(const Tensor& tensor);

}  // namespace tenon
