#include "conformance/ops/compare.h"

#include <cmath>
#include <complex>

#include "kernels/broadcast.h"
#include "kernels/elements.h"

namespace tenon {
namespace {

using Complex = std::complex<double>;

// torch.testing's rule; nan equals nan.
bool IsClose(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got);
  }
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <=
         tolerance.atol + tolerance.rtol * std::abs(want);
}

bool HasNan(Complex c) { return std::isnan(c.real()) || std::isnan(c.imag()); }
bool IsInfinite(Complex c) {
  return std::isinf(c.real()) || std::isinf(c.imag());
}

bool IsClose(Complex got, Complex want, const Tolerance& tolerance) {
  if (HasNan(want) || HasNan(got)) return HasNan(want) && HasNan(got);
  if (IsInfinite(want) || IsInfinite(got)) return got == want;
  return std::abs(got - want) <=
         tolerance.atol + tolerance.rtol * std::abs(want);
}

std::string Text(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.9g", value);
  return buffer;
}
std::string Text(int64_t value) { return std::to_string(value); }
std::string Text(Complex value) {
  return "(" + Text(value.real()) + ", " + Text(value.imag()) + ")";
}

template <typename C, typename IsSame>
std::string CompareElements(const Tensor& got, const Tensor& want,
                            IsSame is_same) {
  const std::vector<C> g = ReadAll<C>(got);
  const std::vector<C> w = ReadAll<C>(want);
  for (size_t i = 0; i < g.size(); ++i) {
    if (!is_same(g[i], w[i])) {
      return "element " + std::to_string(i) + " is " + Text(g[i]) + ", want " +
             Text(w[i]);
    }
  }
  return {};
}

std::string CompareValues(const Tensor& got, const Tensor& want,
                          const Tolerance& tolerance) {
  const auto close = [&](auto g, auto w) { return IsClose(g, w, tolerance); };
  if (IsComplex(want.dtype())) {
    return CompareElements<Complex>(got, want, close);
  }
  if (IsFloating(want.dtype())) {
    return CompareElements<double>(got, want, close);
  }
  return CompareElements<int64_t>(got, want,
                                  [](int64_t g, int64_t w) { return g == w; });
}

std::string CompareGeometry(const Tensor& got, const Tensor& want) {
  if (got.dtype() != want.dtype()) {
    return "dtype " + std::string(Name(got.dtype())) + ", want " +
           std::string(Name(want.dtype()));
  }
  if (got.sizes() != want.sizes()) {
    return "sizes " + ToText(got.sizes()) + ", want " + ToText(want.sizes());
  }
  if (got.strides() != want.strides()) {
    return "strides " + ToText(got.strides()) + ", want " +
           ToText(want.strides());
  }
  if (!got.FitsStorage()) return "the result lies outside its storage";
  return {};
}

bool SharesWithAny(const Tensor& tensor, const RuntimeValue& value) {
  if (value.is_tensor()) return tensor.SharesStorage(value.tensor());
  if (!value.is_list()) return false;
  for (const RuntimeValue& item : value.list()) {
    if (SharesWithAny(tensor, item)) return true;
  }
  return false;
}

std::string CompareAlias(const Tensor& got, const RecordedTensor& want,
                         const Comparison& how) {
  for (const auto& [name, value] : *how.arguments) {
    const bool shares = SharesWithAny(got, value);
    if (name == want.alias) {
      if (!shares) return "no storage shared with argument " + name;
      if (got.offset() != want.tensor.offset()) {
        return "offset " + Text(got.offset()) + ", want " +
               Text(want.tensor.offset());
      }
      return {};
    }
    if (shares && want.alias.empty() && got.numel() > 0) {
      return "shares the storage of argument " + name;
    }
  }
  if (want.alias.empty()) return {};
  return "no argument " + want.alias + " to share storage with";
}

std::string CompareTensor(const RuntimeValue& got, simdjson::dom::element want,
                          const Comparison& how, bool any_values) {
  if (!got.is_tensor() || !got.tensor().defined()) return "no tensor";
  const auto recorded = DecodeTensor(want, *how.storages);
  if (!recorded) return "the record can't be read";
  std::string why = CompareGeometry(got.tensor(), recorded->tensor);
  if (why.empty()) why = CompareAlias(got.tensor(), *recorded, how);
  if (!why.empty() || any_values || !recorded->has_values) return why;
  return CompareValues(got.tensor(), recorded->tensor, how.tolerance);
}

std::string CompareList(const RuntimeValue& got, simdjson::dom::element want,
                        const Comparison& how, bool any_values) {
  simdjson::dom::array items;
  if (want["list"].get(items) != simdjson::SUCCESS) {
    return "the record can't be read";
  }
  if (!got.is_list() || got.list().size() != items.size()) {
    return "not a list of " + std::to_string(items.size());
  }
  for (size_t i = 0; i < items.size(); ++i) {
    std::string why =
        Compare(got.list()[i], items.at(i).value_unsafe(), how, any_values);
    if (!why.empty()) return "[" + std::to_string(i) + "] " + why;
  }
  return {};
}

std::string CompareScalar(const RuntimeValue& got, const RuntimeValue& want,
                          const Tolerance& tolerance) {
  if (got.variant().index() != want.variant().index()) {
    return "a result of another kind";
  }
  if (want.is_float() || want.is_complex()) {
    const auto g = ScalarAs<Complex>(got), w = ScalarAs<Complex>(want);
    return IsClose(g, w, tolerance) ? "" : Text(g) + ", want " + Text(w);
  }
  if (want.is_int() || want.is_bool()) {
    const auto g = ScalarAs<int64_t>(got), w = ScalarAs<int64_t>(want);
    return g == w ? "" : Text(g) + ", want " + Text(w);
  }
  if (want.is_string()) {
    return got.string() == want.string() ? "" : "another string";
  }
  if (want.is_dtype()) return got.dtype() == want.dtype() ? "" : "dtype";
  return want.is_none() ? "" : "a result of a kind that isn't compared";
}

}  // namespace

std::string Compare(const RuntimeValue& got, simdjson::dom::element want,
                    const Comparison& how, bool any_values) {
  const std::string_view kind = ValueKind(want);
  if (kind == "t") return CompareTensor(got, want, how, any_values);
  if (kind == "list") return CompareList(got, want, how, any_values);
  const auto decoded = DecodeValue(want, *how.storages);
  if (!decoded) return "the record can't be read";
  return CompareScalar(got, *decoded, how.tolerance);
}

}  // namespace tenon
