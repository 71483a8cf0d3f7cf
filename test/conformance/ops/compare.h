// Comparison of a kernel's results with recorded ones.
#pragma once

#include <simdjson.h>

#include <string>
#include <vector>

#include "conformance/ops/records.h"

namespace tenon {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

// What a result is compared against.
struct Comparison {
  const Safetensors* storages = nullptr;
  Tolerance tolerance;
  // The arguments by position and by keyword, for "alias".
  const std::vector<std::pair<std::string, RuntimeValue>>* arguments = nullptr;
};

// "" when `got` is what `want` records, otherwise the first difference. With
// `any_values` only dtype and geometry count.
std::string Compare(const RuntimeValue& got, simdjson::dom::element want,
                    const Comparison& how, bool any_values);

}  // namespace tenon
