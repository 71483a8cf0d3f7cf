// The shortest edit script between two sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::tools {

// One step: both sides advance (kKeep), or only one.
struct Edit {
  enum class Kind : uint8_t { kKeep, kRemove, kAdd } kind = Kind::kKeep;
  uint32_t a = 0;  // position in the first sequence, before the step
  uint32_t b = 0;
};

// Myers' algorithm: time and memory grow with the length times the number of
// differences. Beyond `max_edits` differences, equal items are paired in order
// instead, which is still a script, but not the shortest.
std::vector<Edit> DiffSequences(std::span<const uint64_t> a,
                                std::span<const uint64_t> b,
                                size_t max_edits = 1000);

}  // namespace tenon::tools
