// Elements of tensors as text, from text, and by chance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.h"
#include "testing/choices.h"

namespace tenon::tools {

// The whole text as a number or truth value; nullopt when it is none.
std::optional<int64_t> ParseInt(std::string_view text);
std::optional<double> ParseFloat(std::string_view text);
std::optional<bool> ParseBool(std::string_view text);

// Six significant digits.
std::string NumberText(double value);
// "[1, 0.5, ...]": the first elements in row-major order.
std::string ElementsText(const Tensor& tensor, int64_t max_elements);

// A tensor without dimensions; undefined when the text is no such element.
Tensor ParseElement(std::string_view text, DType dtype);

// Floats between -1 and 1 in steps of 1/64, which every floating kind but
// float8 holds exactly; integers 0 to 3, which can serve as indices. Undefined
// when memory runs out.
Tensor RandomTensor(DType dtype, const Sizes& sizes, testing::Choices* choices);

}  // namespace tenon::tools
