// Finds members of an archive by name.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tenon {

// An open table of positions, which name what the caller keeps in order: the
// i-th name added has position i. Names must outlive the table.
class ZipNames {
 public:
  static constexpr uint32_t kNone = ~0u;

  void Reserve(size_t count);
  // False when the name is there already.
  bool Add(std::string_view name);
  // The name's position; kNone when it isn't there.
  uint32_t Find(std::string_view name) const;

 private:
  struct Slot {
    uint32_t position = kNone;
    uint32_t hash = 0;  // the rest of it
  };
  // The name's slot, or the free one for it.
  size_t Probe(std::string_view name, uint64_t hash) const;

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  std::vector<std::string_view> names_;
};

}  // namespace tenon
