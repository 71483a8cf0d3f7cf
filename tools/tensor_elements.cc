#include "tensor_elements.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <vector>

#include "kernels/elements.h"

namespace tenon::tools {
namespace {

template <typename T>
std::optional<T> Parse(std::string_view text) {
  T value{};
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

// The first elements as a tensor of one dimension.
Tensor Head(const Tensor& tensor, int64_t max_elements) {
  const Tensor dense = tensor.Contiguous();
  return dense.View({std::min(dense.numel(), max_elements)}, {1},
                    dense.offset());
}

template <typename T, typename ToText>
std::string JoinElements(const Tensor& tensor, int64_t max_elements,
                         ToText&& to_text) {
  std::string out = "[";
  for (const T& element : ReadAll<T>(Head(tensor, max_elements))) {
    if (out.size() > 1) out += ", ";
    out += to_text(element);
  }
  return out + (tensor.numel() > max_elements ? ", ...]" : "]");
}

}  // namespace

std::optional<int64_t> ParseInt(std::string_view text) {
  return Parse<int64_t>(text);
}

std::optional<double> ParseFloat(std::string_view text) {
  return Parse<double>(text);
}

std::optional<bool> ParseBool(std::string_view text) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  return std::nullopt;
}

std::string NumberText(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::string ElementsText(const Tensor& tensor, int64_t max_elements) {
  if (IsComplex(tensor.dtype())) {
    using Complex = std::complex<double>;
    return JoinElements<Complex>(tensor, max_elements, [](const Complex& z) {
      return NumberText(z.real()) + (z.imag() < 0 ? "" : "+") +
             NumberText(z.imag()) + "j";
    });
  }
  if (IsFloating(tensor.dtype())) {
    return JoinElements<double>(tensor, max_elements, NumberText);
  }
  const bool is_bool = tensor.dtype() == DType::kBool;
  return JoinElements<int64_t>(tensor, max_elements, [&](int64_t i) {
    return is_bool ? std::string(i != 0 ? "True" : "False") : std::to_string(i);
  });
}

Tensor ParseElement(std::string_view text, DType dtype) {
  if (dtype == DType::kBool) {
    const std::optional<bool> b = ParseBool(text);
    return b ? ScalarTensor(*b, dtype) : Tensor();
  }
  if (IsIntegral(dtype)) {
    const std::optional<int64_t> i = ParseInt(text);
    return i ? ScalarTensor(*i, dtype) : Tensor();
  }
  const std::optional<double> f = ParseFloat(text);
  return f ? ScalarTensor(*f, dtype) : Tensor();
}

Tensor RandomTensor(DType dtype, const Sizes& sizes,
                    testing::Choices* choices) {
  Tensor out = Tensor::Empty(dtype, sizes);
  if (!out.defined()) return out;
  std::vector<double> values(static_cast<size_t>(out.numel()));
  for (double& v : values) {
    if (dtype == DType::kBool) {
      v = choices->Below(2);
    } else if (IsIntegral(dtype)) {
      v = choices->Below(4);
    } else {
      v = static_cast<double>(choices->Between(-64, 64)) / 64;
    }
  }
  WriteAll<double>(&out, values);
  return out;
}

}  // namespace tenon::tools
