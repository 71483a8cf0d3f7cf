// Objects of a JSON text that repeat an earlier one byte for byte.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tenon {

// Remembers large objects by their first bytes. To look costs a hash, so it is
// done only at depths where the last object was large: types of tensors, nodes.
class JsonRepeats {
 public:
  static constexpr uint32_t kNoSlot = ~0u;

  // An object that was indexed.
  struct Object {
    uint32_t entry = 0;
    uint32_t at = 0;
    uint32_t num_bytes = 0;  // 0: none
    uint32_t num_members = 0;
    uint32_t depth = 0;
  };

  // Where an object at `at`, `depth` deep with its own level, belongs; kNoSlot
  // when it isn't worth looking.
  uint32_t FindSlot(std::string_view text, size_t at, size_t depth) const {
    const bool is_worth_it =
        depth < kMaxDepth && is_large_[depth] && text.size() - at >= kMinBytes;
    return is_worth_it ? SlotOf(text.data() + at) : kNoSlot;
  }
  // The object of the slot when all of it stands at `at`, too; else null. Equal
  // depth keeps repetitions from going deeper than the limit.
  const Object* Find(std::string_view text, size_t at, uint32_t slot,
                     size_t depth) const;
  // An object was closed; whether it is large.
  bool Note(size_t depth, uint32_t num_bytes) {
    const bool is_large = depth < kMaxDepth && num_bytes >= kMinBytes;
    if (depth < kMaxDepth) is_large_[depth] = is_large;
    return is_large;
  }
  // A large object was closed that `slot` was found for.
  void Add(uint32_t slot, const Object& object) { objects_[slot] = object; }

 private:
  static uint32_t SlotOf(const char* bytes);

  static constexpr uint32_t kMinBytes = 128;
  static constexpr size_t kSlots = 1024;
  static constexpr size_t kMaxDepth = 16;

  std::array<bool, kMaxDepth> is_large_ = {};  // the last object, by depth
  std::vector<Object> objects_ = std::vector<Object>(kSlots);
};

}  // namespace tenon
