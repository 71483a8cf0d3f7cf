// Where buffers lie in one block of memory: the only planner of Tenon.
//
// Two buffers that are alive at the same step never share a byte. No plan can
// be smaller than what is alive at the worst step, the peak; most plans come
// out at exactly that, and then it is known that they can't be better.
//
// How (each in a file of its own):
//   1. peak_live.h: what the peak is.
//   2. time_sweep.h: goes through time as an allocator would, in linear time
//      whatever the lifetimes look like. Forwards and backwards.
//   3. first_fit.h: places buffers in an order that isn't time's (largest
//      first, longest first, ...), each at the lowest offset that is free as
//      long as it lives. Costs as much as pairs of buffers meet.
//   4. plan_search.h: takes the best order and moves buffers that ended up too
//      high further to the front.
// It stops as soon as a plan is as small as the peak, and at the latest when
// the work budget is spent. That is counted in operations, never in time: the
// same lifetimes give the same plan everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "diag/diagnostics.h"
#include "memory/lifetime.h"
#include "support/expected.h"

namespace tenon {

struct MemoryPlanOptions {
  // Looks at a buffer that is already placed, in all; a look costs some ten
  // nanoseconds. Nothing: 2^22, and forty for each buffer. The two sweeps are
  // always made; 0 makes nothing else.
  std::optional<uint64_t> work_budget;
};

struct MemoryPlan {
  // In bytes, by lifetime; multiples of its alignment. 0 for empty buffers
  // without a fixed offset.
  std::vector<uint64_t> offsets;
  // Of the whole block: the largest end of a buffer, rounded up to its
  // alignment. At most 2^63 - 1.
  uint64_t size_bytes = 0;
  // No plan is smaller: the most bytes alive at one step, each buffer rounded
  // up to its alignment; or the largest end of a fixed buffer.
  uint64_t bound_bytes = 0;

  // 1 is perfect; also when there is nothing to place.
  double ratio() const {
    return bound_bytes == 0 ? 1.0
                            : static_cast<double>(size_bytes) /
                                  static_cast<double>(bound_bytes);
  }
};

// T-UNSUPPORTED when lifetimes contradict themselves (an alignment that is no
// power of two, gaps out of order, fixed buffers that overlap) or when memory
// of more than 2^63 - 1 bytes is needed.
Expected<MemoryPlan> PlanMemory(std::span<const Lifetime> lifetimes,
                                const MemoryPlanOptions& options,
                                Diagnostics& diags);

}  // namespace tenon
