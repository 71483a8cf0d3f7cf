// Where a generator's decisions come from: a seed, or any bytes.
#pragma once

#include <cstdint>
#include <cstring>

#include "support/byte_cursor.h"

namespace tenon::testing {

// The same source gives the same decisions on every machine. Bytes that have
// run out read as zeros, so any byte string is a complete list of decisions,
// and a shorter one decides on a simpler program.
class Choices {
 public:
  explicit Choices(uint64_t seed) : state_(seed) {}
  explicit Choices(Bytes bytes) : is_from_bytes_(true), bytes_(bytes) {}

  // 0 <= result < bound; bound > 0.
  uint32_t Below(uint32_t bound) {
    if (bound <= 1) return 0;
    if (!is_from_bytes_) {
      return static_cast<uint32_t>((Next() >> 32) * bound >> 32);
    }
    // As few bytes as needed, so that small edits stay small.
    uint32_t value = 0;
    for (uint32_t range = bound - 1; range > 0; range >>= 8) {
      value = value << 8 | NextByte();
    }
    return value % bound;
  }
  int64_t Between(int64_t low, int64_t high) {
    return low + Below(static_cast<uint32_t>(high - low + 1));
  }
  // True in one of `n` cases.
  bool OneIn(uint32_t n) { return Below(n) == n - 1; }

  template <typename Container>
  const auto& PickFrom(const Container& items) {
    return items[Below(static_cast<uint32_t>(items.size()))];
  }

 private:
  // splitmix64.
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint8_t NextByte() {
    if (at_ >= bytes_.size()) return 0;
    return static_cast<uint8_t>(bytes_[at_++]);
  }

  bool is_from_bytes_ = false;
  uint64_t state_ = 0;
  Bytes bytes_;
  size_t at_ = 0;
};

}  // namespace tenon::testing
