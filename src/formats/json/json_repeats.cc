#include "formats/json/json_repeats.h"

#include <cstring>

namespace tenon {

uint32_t JsonRepeats::SlotOf(const char* bytes) {
  // Types of tensors differ in their sizes, behind the first words. Odd factors
  // keep words apart; four sums at a time don't wait for each other.
  constexpr size_t kFrom = 16, kWords = 8;
  static constexpr uint64_t kFactors[] = {
      0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u,
      0xD6E8FEB86659FD93u};
  uint64_t sums[4] = {};
  for (size_t i = 0; i < kWords; ++i) {
    uint64_t word;
    std::memcpy(&word, bytes + kFrom + i * sizeof(word), sizeof(word));
    sums[i % 4] = sums[i % 4] * 31 + (word ^ word >> 32) * kFactors[i % 4];
  }
  const uint64_t hash = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  return static_cast<uint32_t>(hash >> 40) % kSlots;
}

const JsonRepeats::Object* JsonRepeats::Find(std::string_view text, size_t at,
                                             uint32_t slot,
                                             size_t depth) const {
  const Object& object = objects_[slot];
  if (object.num_bytes == 0 || object.depth != depth ||
      object.num_bytes > text.size() - at) {
    return nullptr;
  }
  const bool is_same = std::memcmp(text.data() + at, text.data() + object.at,
                                   object.num_bytes) == 0;
  return is_same ? &object : nullptr;
}

}  // namespace tenon
