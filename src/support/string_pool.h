// Interned text: each distinct string is kept once and named by a StringId.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "support/id.h"

namespace tenon {

using StringId = Id<struct StringTag>;

// Strings live as long as the pool, at stable addresses. Not thread-safe.
class StringPool {
 public:
  StringPool();
  // The same strings by the same ids, in memory of its own.
  StringPool(const StringPool& other);
  StringPool& operator=(const StringPool&) = delete;

  StringId Intern(std::string_view text);
  // Makes room for so many more strings: for speed, when many are to come.
  void Reserve(size_t more);
  // Invalid when `text` was never interned.
  StringId Find(std::string_view text) const;
  // An invalid id reads as the empty string.
  std::string_view view(StringId id) const {
    return id.valid() ? strings_[id.index] : std::string_view();
  }
  size_t size() const { return strings_.size(); }

 private:
  // Most strings that differ differ in the part of their hash that stands
  // beside the index, so that others' texts are rarely looked at.
  struct Slot {
    uint32_t index;  // kNone = free
    uint32_t hash;   // bits that its place doesn't depend on
  };

  size_t Probe(std::string_view text, uint64_t hash) const;
  void Resize(size_t num_slots);
  std::string_view Copy(std::string_view text);

  std::vector<std::string_view> strings_;
  std::vector<uint32_t> hashes_;  // bits that places depend on
  // Open addressing. The size is a power of two, at least twice the strings.
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_left_ = 0;
  char* block_next_ = nullptr;
};

}  // namespace tenon
