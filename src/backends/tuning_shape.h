// The sizes that a backend with profiles tunes a dynamic dimension for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tenon {

// min <= opt <= max, min >= 1.
struct TuningShape {
  int64_t min = 1, opt = 1, max = 1;
  // What the caller should know: a bound that was made up, a size of 0 that the
  // profile can't hold. Empty when the range was taken as it is.
  std::string note;
};

// What stands in for a missing upper bound.
constexpr int64_t kUnboundedSize = 1 << 14;

// For a dimension of the given range; nullopt = unbounded. The middle of the
// range is tuned for. A minimum of 0 becomes 1: an empty tensor is handled
// outside the region.
TuningShape TuneFor(std::optional<int64_t> min, std::optional<int64_t> max);

}  // namespace tenon
