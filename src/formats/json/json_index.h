// Checks a JSON text and finds where its values lie.
//
// One pass over the text, whatever it says: it is complete and well-formed
// afterwards, or there is one error with its place. Values aren't converted;
// an index tells where each begins, and of objects and arrays where they end,
// so that readers get to any value without looking at others. Nothing of the
// text is copied. Index entries take 4 bytes, about half a byte per byte of a
// usual text.
//
// Models say the same thing again and again: half of a .pt2's text are types of
// tensors, most of them equal to one before. Inside an object that repeats an
// earlier one byte for byte, nothing is looked at again.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace tenon {

// Bytes that have to be readable behind a text, whatever they hold.
constexpr size_t kJsonSlackBytes = 64;
// Positions take 32 bits.
constexpr uint64_t kMaxJsonBytes = 0xFFFFFF00u;

// Entries in the order of the text. A string, number or word has one: where it
// begins. An object or array has four, then those of its keys and items:
//   where it begins, how many bytes it has, how many entries, these four
//   included, and how many members
// An object that repeats an earlier one has five, and none for its members:
//   these four, and the entry of the other object
class JsonIndex {
 public:
  static constexpr uint32_t kContainerEntries = 4;
  // Of these four.
  static constexpr uint32_t kBytes = 1, kEntries = 2, kCount = 3;
  // Of these five. No other object has five: a member takes two.
  static constexpr uint32_t kRepeatEntries = 5, kOriginal = 4;

  const uint32_t* entries() const { return entries_.get(); }
  size_t size() const { return size_; }

  // Where and why a text is refused; `what` is null when it isn't.
  struct Fault {
    const char* what = nullptr;
    uint64_t offset = 0;
    bool is_too_deep = false;
  };
  // `text` has kJsonSlackBytes behind it and at most kMaxJsonBytes. Besides
  // what RFC 8259 allows, NaN, Infinity and -Infinity are numbers, as Python
  // writes them.
  Fault Build(std::string_view text, uint32_t max_depth);

 private:
  friend class JsonIndexer;
  struct Free {
    void operator()(uint32_t* p) const { std::free(p); }
  };
  // Makes room for `more` entries; false without memory.
  bool Reserve(size_t more) {
    return size_ + more <= capacity_ || Grow(size_ + more);
  }
  bool Grow(size_t wanted);

  std::unique_ptr<uint32_t[], Free> entries_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tenon
