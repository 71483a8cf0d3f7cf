#include "kernels/scalar_range.h"

#include <cmath>
#include <limits>

namespace tenon {
namespace {

double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kComplex32:
      return 65504.0;
    case DType::kBFloat16:
      return 0x1.fep127;
    case DType::kFloat32:
    case DType::kComplex64:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

bool FitsFloat(double value, DType dtype) {
  return !std::isfinite(value) || std::abs(value) <= LargestOf(dtype);
}

bool FitsInteger(double value, DType dtype) {
  if (std::isnan(value)) return false;
  const int bits = static_cast<int>(SizeBytes(dtype)) * 8;
  // 2^bits - 1 or 2^(bits-1) - 1; rounded up to the power of two for 64 bits,
  // as the comparison in floating point does.
  const double limit =
      std::ldexp(1.0, IsSigned(dtype) ? bits - 1 : bits) - (bits < 64 ? 1 : 0);
  const double lowest = IsSigned(dtype) ? -limit - (bits < 64 ? 1 : 0) : -limit;
  return value >= lowest && value <= limit;
}

bool Fits(const RuntimeValue& scalar, DType dtype) {
  if (dtype == DType::kBool) return true;
  if (scalar.is_complex()) {
    const std::complex<double> value = scalar.complex_value();
    if (!IsComplex(dtype)) {
      if (value.imag() != 0) return false;
      return Fits(RuntimeValue(value.real()), dtype);
    }
    return FitsFloat(value.real(), dtype) && FitsFloat(value.imag(), dtype);
  }
  if (scalar.is_bool()) return true;
  if (scalar.is_int() && IsIntegral(dtype) && SizeBytes(dtype) == 8) {
    return true;
  }
  const double value = scalar.is_int() ? static_cast<double>(scalar.int_value())
                                       : scalar.float_value();
  return IsIntegral(dtype) ? FitsInteger(value, dtype)
                           : FitsFloat(value, dtype);
}

}  // namespace

bool CheckFits(KernelCall& call, const RuntimeValue& scalar, DType dtype) {
  if (Fits(scalar, dtype)) return true;
  return call.Fail("the value cannot be converted to " +
                   std::string(Name(dtype)) + " without overflow");
}

}  // namespace tenon
