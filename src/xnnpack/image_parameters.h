// Parameters of convolutions and pools: one number for height and width, or
// two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/node_reader.h"
#include "xnnpack/xnn_graph.h"

namespace tenon::xnnpack {

// Height and width. Of a row the height is 1, and what a parameter does to it
// is the least: nothing.
inline std::optional<std::vector<int64_t>> Pair(const NodeReader& read,
                                                std::string_view parameter,
                                                int64_t least,
                                                bool is_row = false) {
  auto pair = read.Ints(parameter);
  if (!pair || pair->empty() || pair->size() > (is_row ? 1 : 2)) {
    return std::nullopt;
  }
  if (pair->size() == 1) {
    pair->insert(pair->begin(), is_row ? least : pair->front());
  }
  const bool is_right = std::all_of(pair->begin(), pair->end(), [&](int64_t i) {
    return i >= least && i < (int64_t{1} << 30);
  });
  return is_right ? pair : std::nullopt;
}

inline void Copy(const std::vector<int64_t>& from, uint32_t (&to)[2]) {
  to[0] = static_cast<uint32_t>(from[0]);
  to[1] = static_cast<uint32_t>(from[1]);
}

inline Padding2d Around(const std::vector<int64_t>& pair) {
  const auto height = static_cast<uint32_t>(pair[0]);
  const auto width = static_cast<uint32_t>(pair[1]);
  return {height, width, height, width};
}

}  // namespace tenon::xnnpack
