#include "comparison.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "kernels/elements.h"

namespace tenon::tools {
namespace {

struct Tolerance {
  double relative, absolute;
  double epsilon = 0;  // spacing of the dtype's numbers at 1
};

// torch.testing.assert_close's defaults.
Tolerance ToleranceOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128:
      return {1e-7, 1e-7, 0x1p-52};
    case DType::kFloat32:
    case DType::kComplex64:
      return {1.3e-6, 1e-5, 0x1p-23};
    case DType::kFloat16:
    case DType::kComplex32:
      return {1e-3, 1e-5, 0x1p-10};
    case DType::kBFloat16:
      return {1.6e-2, 1e-5, 0x1p-7};
    default:
      return IsFloating(dtype) ? Tolerance{0.25, 0.25} : Tolerance{0, 0};
  }
}

std::string KindText(const RuntimeValue& v) {
  if (v.is_tensor()) return v.tensor().ToString();
  if (v.is_none()) return "None";
  if (v.is_bool()) return "a bool";
  if (v.is_int()) return "an int";
  if (v.is_float()) return "a float";
  if (v.is_string()) return "a text";
  return "another kind of value";
}

void CompareElement(std::complex<double> x, std::complex<double> y,
                    Tolerance tolerance, Comparison* out) {
  const auto is_nan = [](std::complex<double> z) {
    return std::isnan(z.real()) || std::isnan(z.imag());
  };
  if (x == y || (is_nan(x) && is_nan(y))) return;
  out->is_identical = false;
  const double difference = std::abs(x - y);
  // Infinite where one side is NaN or infinite and the other isn't.
  const double shown = std::isfinite(difference) ? difference : INFINITY;
  const double allowed = tolerance.absolute + tolerance.relative * std::abs(y);
  out->max_difference = std::max(out->max_difference, shown);
  const double relative = allowed > 0 ? shown / allowed : INFINITY;
  if (tolerance.epsilon > 0) {
    const double size = std::max(std::abs(y), 0x1p-126);
    const double spacing =
        tolerance.epsilon * std::exp2(std::floor(std::log2(size)));
    out->max_ulps = std::max(out->max_ulps, shown / spacing);
  }
  out->max_relative =
      std::max(out->max_relative, std::isnan(relative) ? INFINITY : relative);
}

void CompareTensors(const Tensor& x, const Tensor& y, Comparison* out) {
  const Tolerance tolerance = ToleranceOf(x.dtype());
  if (IsIntegral(x.dtype()) || x.dtype() == DType::kBool) {
    // As integers: beyond 2^53 a double would hide differences.
    const auto a = ReadAll<int64_t>(x), b = ReadAll<int64_t>(y);
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      out->is_identical = false;
      out->max_relative = INFINITY;
      out->max_difference = std::max(
          out->max_difference,
          std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return;
  }
  const auto a = ReadAll<std::complex<double>>(x);
  const auto b = ReadAll<std::complex<double>>(y);
  for (size_t i = 0; i < a.size(); ++i) {
    CompareElement(a[i], b[i], tolerance, out);
  }
}

}  // namespace

Comparison Compare(const RuntimeValue& found, const RuntimeValue& expected) {
  Comparison out;
  out.found = KindText(found);
  out.expected = KindText(expected);
  if (found.variant().index() != expected.variant().index() ||
      out.found != out.expected) {
    out.has_same_kind = out.is_identical = false;
    return out;
  }
  if (found.is_tensor()) {
    CompareTensors(found.tensor(), expected.tensor(), &out);
  } else if (found.is_float()) {
    CompareElement(found.float_value(), expected.float_value(),
                   ToleranceOf(DType::kFloat64), &out);
  } else if (found.is_int() || found.is_bool()) {
    const bool is_same = found.is_int()
                             ? found.int_value() == expected.int_value()
                             : found.bool_value() == expected.bool_value();
    if (!is_same) {
      out.is_identical = false;
      out.max_difference = out.max_relative = INFINITY;
    }
  } else if (found.is_string() && found.string() != expected.string()) {
    out.is_identical = false;
    out.max_difference = out.max_relative = INFINITY;
  }
  return out;
}

}  // namespace tenon::tools
