// Whether a result is what PyTorch recorded.
#pragma once

#include <string>
#include <vector>

#include "tensor/value.h"

namespace tenon::conformance {

// For float32, float64 and complex numbers. 16-bit floats have a floor of
// their own (2e-3, 2e-2); float8 bits, integers and bools are exact.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// "" when `got` is of the wanted kind, dtype and sizes and each element lies
// within |got - want| <= absolute + relative * |want|, NaN equal to NaN; else
// what differs most, after `where`.
std::string Differ(const RuntimeValue& got, const RuntimeValue& want,
                   const std::string& where, Tolerance tolerance);

// All numbers in row-major order; of complex ones the real and imaginary parts
// one after the other.
std::vector<double> AsDoubles(const Tensor& tensor);

}  // namespace tenon::conformance
