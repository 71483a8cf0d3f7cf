// Orders in which buffers are worth placing.
//
// None is always good: large buffers first leaves holes that small ones fill,
// but long ones that come late then lie on top of what dies soon; longest first
// is the other way round. What is alive near the peak has the least freedom.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/memory_problem.h"

namespace tenon {

inline constexpr int kNumPlacementOrders = 8;

// The slots without a fixed place, in order `which`, from the one that is best
// most often to the one that is best least often.
std::vector<uint32_t> PlacementOrder(const MemoryProblem& problem, int which);

}  // namespace tenon
