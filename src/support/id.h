// Typed indices: a NodeId can't be passed where a ValueId is meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tenon {

// An index into one table. Default constructed: no entry.
template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  uint32_t index = kNone;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t i) : index(i) {}
  constexpr explicit Id(size_t i) : index(static_cast<uint32_t>(i)) {}

  constexpr bool valid() const { return index != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr bool operator==(Id a, Id b) { return a.index == b.index; }
  friend constexpr bool operator!=(Id a, Id b) { return a.index != b.index; }
  friend constexpr bool operator<(Id a, Id b) { return a.index < b.index; }
};

// [begin, begin + count) in one table.
template <typename Tag>
struct IdRange {
  uint32_t begin = 0;
  uint32_t count = 0;

  constexpr Id<Tag> operator[](size_t i) const {
    return Id<Tag>(static_cast<uint32_t>(begin + i));
  }
  constexpr bool empty() const { return count == 0; }
  constexpr uint32_t size() const { return count; }
};

}  // namespace tenon

template <typename Tag>
struct std::hash<tenon::Id<Tag>> {
  size_t operator()(tenon::Id<Tag> id) const {
    return id.index * 0x9E3779B97F4A7C15ull;
  }
};
