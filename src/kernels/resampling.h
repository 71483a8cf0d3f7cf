// Which elements an element of an upsampled tensor is made of.
//
// Resampling goes dimension by dimension: along each, an output element is a
// weighted sum of a few input elements, its taps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tenon {

enum class Resampling {
  kNearest,
  kNearestExact,
  kLinear,
  kCubic,
  kLinearAntialias,
  kCubicAntialias
};

// Whether `align_corners` means something.
constexpr bool HasAlignCorners(Resampling kind) {
  return kind != Resampling::kNearest && kind != Resampling::kNearestExact;
}

struct ResampledAxis {
  int64_t in = 1, out = 1;
  bool align_corners = false;
  std::optional<double> scale;  // output per input, where the caller gave it
};

struct ResamplingTap {
  int64_t index;
  double weight;
};
// Per output element.
using ResamplingTaps = std::vector<std::vector<ResamplingTap>>;

// Both sizes are positive.
ResamplingTaps FindTaps(Resampling kind, const ResampledAxis& axis);

}  // namespace tenon
