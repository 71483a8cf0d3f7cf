// Levels: the cut behind PlanPartition, for one backend after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/dependencies.h"

namespace tenon {

class Cutter {
 public:
  // `dependencies` must outlive the cutter.
  explicit Cutter(const Dependencies& dependencies);

  // The regions over the wanted nodes (by position) that are in no region yet,
  // as ascending lists of positions. At most as many as the longest
  // alternation on a path.
  std::vector<std::vector<uint32_t>> Cut(const std::vector<bool>& wanted);

  // Makes regions that Cut gave (or some of them) units of the graph that is
  // cut next.
  void Keep(const std::vector<std::vector<uint32_t>>& regions);

 private:
  void Sort();

  const Dependencies& dependencies_;
  std::vector<uint32_t> unit_;  // by position: the region's first member
  std::vector<bool> in_region_;
  std::vector<uint32_t> order_;  // positions, units side by side
};

}  // namespace tenon
