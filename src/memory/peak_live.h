// The most memory that is alive at one time.
#pragma once

#include <cstdint>
#include <optional>

#include "memory/memory_problem.h"

namespace tenon {

// In bytes; nothing when it is more than 2^63 - 1.
std::optional<uint64_t> PeakLive(const MemoryProblem& problem);

}  // namespace tenon
