#include "support/string_pool.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tenon {
namespace {

constexpr uint32_t kFree = Id<StringTag>::kNone;
constexpr size_t kMinSlots = 64;
constexpr size_t kBlockBytes = size_t{64} * 1024;

uint64_t HashText(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

StringPool::StringPool() : slots_(kMinSlots, Slot{kFree, 0}) {}

StringPool::StringPool(const StringPool& other)
    : hashes_(other.hashes_), slots_(other.slots_) {
  strings_.reserve(other.strings_.size());
  for (const std::string_view text : other.strings_) {
    strings_.push_back(Copy(text));
  }
}

size_t StringPool::Probe(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  const auto other = static_cast<uint32_t>(hash >> 32);
  while (slots_[at].index != kFree &&
         !(slots_[at].hash == other && strings_[slots_[at].index] == text)) {
    at = (at + 1) & mask;
  }
  return at;
}

StringId StringPool::Find(std::string_view text) const {
  const uint32_t index = slots_[Probe(text, HashText(text))].index;
  return index == kFree ? StringId() : StringId(index);
}

StringId StringPool::Intern(std::string_view text) {
  const uint64_t hash = HashText(text);
  size_t at = Probe(text, hash);
  if (slots_[at].index != kFree) return StringId(slots_[at].index);
  if (2 * (strings_.size() + 1) > slots_.size()) {
    Resize(2 * slots_.size());
    at = Probe(text, hash);
  }
  // The slot last: when memory runs out before, the pool is as it was.
  const uint32_t index = static_cast<uint32_t>(strings_.size());
  const std::string_view copy = Copy(text);
  hashes_.resize(index);
  hashes_.push_back(static_cast<uint32_t>(hash));
  strings_.push_back(copy);
  slots_[at] = {index, static_cast<uint32_t>(hash >> 32)};
  return StringId(index);
}

void StringPool::Reserve(size_t more) {
  const size_t count = strings_.size() + more;
  if (2 * count <= slots_.size()) return;
  Resize(std::bit_ceil(2 * count));
  strings_.reserve(count);
  hashes_.reserve(count);
}

void StringPool::Resize(size_t num_slots) {
  const std::vector<Slot> before =
      std::exchange(slots_, std::vector<Slot>(num_slots, Slot{kFree, 0}));
  const size_t mask = num_slots - 1;
  for (const Slot& slot : before) {
    if (slot.index == kFree) continue;
    size_t at = hashes_[slot.index] & mask;
    while (slots_[at].index != kFree) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::string_view StringPool::Copy(std::string_view text) {
  if (text.size() > block_left_) {
    const size_t bytes = std::max(text.size(), kBlockBytes);
    // Uninitialised on purpose: every byte handed out is copied into.
    blocks_.push_back(std::unique_ptr<char[]>(new char[bytes]));
    block_next_ = blocks_.back().get();
    block_left_ = bytes;
  }
  char* at = block_next_;
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  block_next_ += text.size();
  block_left_ -= text.size();
  return {at, text.size()};
}

}  // namespace tenon
