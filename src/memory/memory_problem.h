// Lifetimes as the planner's parts see them: checked, without what is empty,
// in a time without holes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "diag/diagnostics.h"
#include "memory/lifetime.h"
#include "support/expected.h"

namespace tenon {

inline constexpr uint64_t kMaxMemoryBytes = (uint64_t{1} << 63) - 1;
inline constexpr uint64_t kNoOffset = ~uint64_t{0};

// The next multiple of a power of two. Doesn't overflow up to 2^63.
constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// A buffer that takes memory. Times are half open: [begin, end).
struct MemorySlot {
  uint64_t size_bytes = 0;  // a multiple of `alignment`, at least 1
  uint64_t alignment = 1;
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t lifetime = 0;  // that it stands for
};

// A time through which a slot lives; slots with gaps have several.
struct LiveRange {
  uint32_t slot = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct MemoryProblem {
  // In the order of their begins.
  std::vector<MemorySlot> slots;
  // Those with a fixed place, by lifetime, and where they lie.
  std::vector<uint32_t> fixed_slots;
  std::vector<uint64_t> fixed_offsets;
  bool has_gaps = false;
  uint32_t num_times = 0;
  // Ranges in the order of their begins, and indices of ranges in the order of
  // their ends; by lifetime among equals.
  std::vector<LiveRange> ranges;
  std::vector<uint32_t> ranges_by_end;
};

// Where slots lie, and the largest end.
struct SlotOffsets {
  std::vector<uint64_t> offsets;  // by slot
  uint64_t size_bytes = kNoOffset;
};

// Reports what PlanMemory reports about lifetimes, fixed ones excepted.
Expected<MemoryProblem> MakeMemoryProblem(std::span<const Lifetime> lifetimes,
                                          Diagnostics& diags);

// Calls visit_begin(range) and visit_end(range) in the order of time, ends
// first. Both return whether to go on; so does the whole.
template <typename VisitBegin, typename VisitEnd>
bool ForEachEvent(const MemoryProblem& problem, VisitBegin&& visit_begin,
                  VisitEnd&& visit_end) {
  size_t next_end = 0;
  for (const LiveRange& range : problem.ranges) {
    for (; next_end < problem.ranges_by_end.size(); ++next_end) {
      const LiveRange& old = problem.ranges[problem.ranges_by_end[next_end]];
      if (old.end > range.begin) break;
      if (!visit_end(old)) return false;
    }
    if (!visit_begin(range)) return false;
  }
  return true;
}

}  // namespace tenon
