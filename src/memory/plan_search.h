// Improves the order in which buffers are placed, step by step.
//
// What lies above the bound is in the wrong place. One such buffer is picked,
// and one of those below it that are in its way; either the first is placed
// before the second from now on, or the second after the first. Only what this
// moves is placed again. The change stays when the plan didn't become larger;
// now and then when it did, a little, or the search would sit in the first
// hollow that it comes to. Which ones are picked is drawn from a generator with
// a fixed seed.
#pragma once

#include <cstdint>

#include "memory/first_fit.h"
#include "memory/memory_problem.h"

namespace tenon {

// Starts from the order and the offsets of `fit`. Leaves the best offsets that
// it saw there, and gives their size in bytes; the order is of no use then.
// Ends at `bound_bytes`, or when `fit` has looked `max_looks` times in all.
uint64_t SearchPlan(const MemoryProblem& problem, const Conflicts& conflicts,
                    uint64_t bound_bytes, uint64_t max_looks, FirstFit* fit);

}  // namespace tenon
