// Matrix products of contiguous values, on which matmul, convolution and
// attention stand.
#pragma once

#include <vector>

#include "kernels/elements.h"

namespace tenon {

// The elements of a tensor in row-major order as compute type C: borrowed
// where the tensor already is that, else converted.
template <typename C>
class Values {
 public:
  explicit Values(const Tensor& tensor);

  const C* data() const { return data_; }
  C operator[](int64_t i) const { return data_[i]; }

 private:
  Tensor tensor_;  // keeps the borrowed storage
  std::vector<C> owned_;
  const C* data_ = nullptr;
};

// out[m, n] += a[m, k] * b[k, n]; row-major, contiguous, not overlapping.
// Integers wrap. Floats are summed in blocks of k, which keeps the rounding
// error of long sums small.
template <typename C>
void MultiplyAdd(const C* a, const C* b, C* out, int64_t m, int64_t n,
                 int64_t k);

// a * b and a + b that wrap for integers.
template <typename C>
C WrapMultiply(C a, C b) {
  if constexpr (kIsInteger<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
template <typename C>
C WrapAdd(C a, C b) {
  if constexpr (kIsInteger<C>) {
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

}  // namespace tenon
