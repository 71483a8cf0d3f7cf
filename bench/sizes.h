// The sizes of all benchmarks, in one place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::bench {

inline constexpr int64_t kNodeCounts[] = {1'000, 10'000, 100'000, 500'000,
                                          1'000'000};

// Up to here a benchmark also measures twice the size, for `growth`.
inline constexpr int64_t kMaxGrowthNodes = 500'000;

// Nodes of a child that is called once, or of the parent around a small child:
// what joining costs must not depend on them.
inline constexpr int64_t kChildSizes[] = {10, 100, 1'000, 10'000, 100'000};

// Regions that a program is cut into: one per so many nodes.
inline constexpr int64_t kNodesPerRegion = 50;

}  // namespace tenon::bench
