#include "conformance/pt2/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <sstream>

#include "kernels/elements.h"

namespace tenon::conformance {
namespace {

double FloorOf(DType dtype) {
  if (dtype == DType::kFloat16) return 2e-3;
  if (dtype == DType::kBFloat16) return 2e-2;
  return 0;
}

bool IsExact(DType dtype) {
  return !IsComplex(dtype) && (!IsFloating(dtype) || SizeBytes(dtype) == 1);
}

bool IsClose(double got, double want, Tolerance tolerance) {
  if (std::isnan(got) || std::isnan(want)) {
    return std::isnan(got) && std::isnan(want);
  }
  if (got == want) return true;  // infinities among them
  if (std::isinf(got) || std::isinf(want)) return false;
  return std::abs(got - want) <=
         tolerance.absolute + tolerance.relative * std::abs(want);
}

std::string DifferElements(const Tensor& got, const Tensor& want,
                           const std::string& where, Tolerance tolerance) {
  if (IsExact(want.dtype())) {
    const Tensor a = got.Contiguous(), b = want.Contiguous();
    const size_t size = SizeBytes(want.dtype());
    for (int64_t i = 0; i < want.numel(); ++i) {
      if (std::memcmp(a.raw() + i * size, b.raw() + i * size, size) == 0) {
        continue;
      }
      return where + ": element " + std::to_string(i) + " of " +
             want.ToString() + " differs";
    }
    return "";
  }
  const double floor = FloorOf(want.dtype());
  tolerance.relative = std::max(tolerance.relative, floor);
  tolerance.absolute = std::max(tolerance.absolute, floor);
  const std::vector<double> a = AsDoubles(got), b = AsDoubles(want);
  size_t num_wrong = 0, first_wrong = 0;
  double largest = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (difference > largest) largest = difference;
    if (IsClose(a[i], b[i], tolerance)) continue;
    if (num_wrong++ == 0) first_wrong = i;
  }
  if (num_wrong == 0) return "";
  std::ostringstream out;
  out << where << ": " << num_wrong << " of " << b.size()
      << " numbers differ, number " << first_wrong << " is " << a[first_wrong]
      << " instead of " << b[first_wrong] << ", largest difference " << largest;
  return out.str();
}

std::string DifferTensors(const Tensor& got, const Tensor& want,
                          const std::string& where, Tolerance tolerance) {
  if (!got.defined() || got.dtype() != want.dtype() ||
      got.sizes() != want.sizes()) {
    return where + ": " +
           (got.defined() ? got.ToString() : "an undefined tensor") +
           " instead of " + want.ToString();
  }
  return DifferElements(got, want, where, tolerance);
}

std::string Describe(const RuntimeValue& value) {
  std::ostringstream out;
  if (value.is_none()) out << "None";
  if (value.is_tensor()) out << "tensor " << value.tensor().ToString();
  if (value.is_int()) out << "int " << value.int_value();
  if (value.is_float()) out << "float " << value.float_value();
  if (value.is_bool()) out << (value.bool_value() ? "True" : "False");
  if (value.is_string()) out << "'" << value.string() << "'";
  if (value.is_list()) out << "a list";
  return out.str().empty() ? "another kind of value" : out.str();
}

}  // namespace

std::vector<double> AsDoubles(const Tensor& tensor) {
  if (!IsComplex(tensor.dtype())) return ReadAll<double>(tensor);
  std::vector<double> out;
  for (const std::complex<double>& c : ReadAll<std::complex<double>>(tensor)) {
    out.push_back(c.real());
    out.push_back(c.imag());
  }
  return out;
}

std::string Differ(const RuntimeValue& got, const RuntimeValue& want,
                   const std::string& where, Tolerance tolerance) {
  bool equal = got.variant().index() == want.variant().index();
  if (equal && want.is_tensor()) {
    return DifferTensors(got.tensor(), want.tensor(), where, tolerance);
  }
  if (equal && want.is_int()) equal = got.int_value() == want.int_value();
  if (equal && want.is_bool()) equal = got.bool_value() == want.bool_value();
  if (equal && want.is_string()) equal = got.string() == want.string();
  if (equal && want.is_float()) {
    equal = IsClose(got.float_value(), want.float_value(), tolerance);
  }
  if (equal) return "";
  return where + ": " + Describe(got) + " instead of " + Describe(want);
}

}  // namespace tenon::conformance
