// When a buffer needs its memory, and how much.
//
// Time is counted in steps: whatever runs one after the other (steps of a plan,
// instructions of a method). What a loop or a conditional makes of a lifetime
// is in control_flow.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tenon {

// Steps from `first` to `last`, both included.
struct StepRange {
  uint32_t first = 0;
  uint32_t last = 0;
  friend bool operator==(const StepRange&, const StepRange&) = default;
};

// Buffers that always share their place (results written over operands) are
// one lifetime: the largest of their sizes, from the first to the last step.
struct Lifetime {
  uint64_t size_bytes = 0;  // 0: lies nowhere, conflicts with nothing
  uint32_t first = 0;       // `first` <= `last`, both included
  uint32_t last = 0;
  // Of the offset; a power of two. The buffer also owns what its size lacks to
  // a multiple of it: nothing else lies there while it lives.
  uint64_t alignment = 64;
  // Where it must lie; a multiple of `alignment`.
  std::optional<uint64_t> fixed_offset;
  // Steps between `first` and `last` in which others may use the memory;
  // ascending, and none overlaps the next. Neither `first` nor `last` is in
  // one.
  std::vector<StepRange> gaps;
};

}  // namespace tenon
