// Which buffers are alive at the same time, pair by pair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/memory_problem.h"

namespace tenon {

// How many pairs there are; those that meet twice, around gaps, count twice.
// Stops at `limit`. Linear in the number of ranges.
uint64_t CountConflicts(const MemoryProblem& problem, uint64_t limit);

class Conflicts {
 public:
  // Takes time and eight bytes for each pair that CountConflicts counts; that
  // must be less than 2^31.
  explicit Conflicts(const MemoryProblem& problem);

  // Each once.
  std::span<const uint32_t> of(uint32_t slot) const {
    return {all_.data() + begins_[slot], ends_[slot] - begins_[slot]};
  }
  // Of all slots, both ways.
  uint64_t num_entries() const { return num_entries_; }

 private:
  std::vector<uint32_t> begins_, ends_;  // by slot, in all_
  std::vector<uint32_t> all_;
  uint64_t num_entries_ = 0;
};

}  // namespace tenon
