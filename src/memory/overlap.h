// Whether a plan holds what it promises: an independent check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "memory/lifetime.h"

namespace tenon {

// Two buffers, the smaller number first, that share a byte at some step.
// Nothing when there are none. `offsets` are by lifetime; a buffer takes its
// size, rounded up to its alignment. O(n log n). Lifetimes are as PlanMemory
// takes them and no end exceeds 2^64 - 1.
std::optional<std::pair<size_t, size_t>> FindOverlap(
    std::span<const Lifetime> lifetimes, std::span<const uint64_t> offsets);

}  // namespace tenon
