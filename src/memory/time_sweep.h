// Places buffers as an allocator would that sees them come and go: where one
// begins it gets a free stretch that fits well, where it ends the stretch is
// free again and merges with its neighbours.
//
// Free stretches are kept in lists by size, a power of two in sixteen parts
// each, with a bit for each list that isn't empty. A buffer looks at a bounded
// number of stretches, so the whole takes linear time, whatever the lifetimes.
// What an allocator can't do is its weakness: it doesn't know what comes.
#pragma once

#include "memory/memory_problem.h"

namespace tenon {

enum class SweepDirection { kForwards, kBackwards };

// Buffers with gaps count as alive in them. Those with a fixed place stay
// where they are, and all others lie behind the last of them. No size when the
// end would be behind 2^63 - 1.
SlotOffsets SweepTime(const MemoryProblem& problem, SweepDirection direction);

}  // namespace tenon
