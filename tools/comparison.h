// How far two results are apart.
#pragma once

#include <string>

#include "tensor/value.h"

namespace tenon::tools {

struct Comparison {
  bool has_same_kind = true;  // dtype, sizes, or kind of scalar
  bool is_identical = true;   // bit by bit; NaN equals NaN
  double max_difference = 0;
  // Largest difference over what the dtype tolerates: at most 1 is fine.
  double max_relative = 0;
  // Largest difference over the spacing of the dtype's numbers there.
  double max_ulps = 0;
  std::string found, expected;  // where the kinds differ

  bool is_close() const { return has_same_kind && max_relative <= 1; }
};

// |a - b| <= atol + rtol * |b| with PyTorch's defaults for the dtype.
Comparison Compare(const RuntimeValue& found, const RuntimeValue& expected);

}  // namespace tenon::tools
