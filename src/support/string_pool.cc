#include "support/string_pool.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tenon {
namespace {

constexpr uint32_t kFree = Id<StringTag>::kNone;
constexpr size_t kBlockBytes = 64 * 1024;

uint64_t HashText(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace

StringPool::StringPool() : slots_(64, kFree) {}

size_t StringPool::Probe(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  const uint32_t short_hash = static_cast<uint32_t>(hash >> 32);
  while (slots_[slot] != kFree) {
    const uint32_t index = slots_[slot];
    if (hashes_[index] == short_hash && strings_[index] == text) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

StringId StringPool::Find(std::string_view text) const {
  const size_t slot = Probe(text, HashText(text));
  return slots_[slot] == kFree ? StringId() : StringId(slots_[slot]);
}

StringId StringPool::Intern(std::string_view text) {
  const uint64_t hash = HashText(text);
  size_t slot = Probe(text, hash);
  if (slots_[slot] != kFree) return StringId(slots_[slot]);
  if (2 * (strings_.size() + 1) > slots_.size()) {
    Grow();
    slot = Probe(text, hash);
  }
  // The slot last: when memory runs out before, the pool is as it was.
  const uint32_t index = static_cast<uint32_t>(strings_.size());
  const std::string_view copy = Copy(text);
  hashes_.resize(index);
  hashes_.push_back(static_cast<uint32_t>(hash >> 32));
  strings_.push_back(copy);
  slots_[slot] = index;
  return StringId(index);
}

void StringPool::Grow() {
  slots_.assign(slots_.size() * 2, kFree);
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 0; i < strings_.size(); ++i) {
    size_t slot = HashText(strings_[i]) & mask;
    while (slots_[slot] != kFree) slot = (slot + 1) & mask;
    slots_[slot] = i;
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
