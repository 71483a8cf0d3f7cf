// What 64 bytes of JSON text are, as one bit a byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

constexpr size_t kJsonBlockBytes = 64;

// Bit i is about byte i.
struct JsonBlock {
  uint64_t quotes = 0;       // "
  uint64_t backslashes = 0;  // the other byte that matters inside strings
  uint64_t operators = 0;    // { } [ ] : ,
  uint64_t spaces = 0;       // space, tab, line feed, carriage return
  uint64_t controls = 0;     // below space
  uint64_t wide = 0;         // beyond ASCII
};

// Classifies kJsonBlockBytes bytes.
using JsonClassifier = void (*)(const char* text, JsonBlock* out);
// The fastest that this processor has.
JsonClassifier FindJsonClassifier();

// Turns the blocks of a document, in order, into where its tokens begin.
// Keeps from one block to the next whether a string or a scalar goes on.
class JsonTokenizer {
 public:
  struct Result {
    uint64_t tokens;    // { } [ ] : , and the first bytes of other tokens
    uint64_t escapes;   // backslashes inside strings that escape a byte
    uint64_t controls;  // control bytes inside strings: an error
  };

  Result Next(const JsonBlock& block) {
    const uint64_t escaped = FindEscaped(block.backslashes);
    const uint64_t quotes = block.quotes & ~escaped;
    // From an opening quote up to the byte before the closing one.
    const uint64_t strings = PrefixXor(quotes) ^ in_string_;
    in_string_ = static_cast<uint64_t>(static_cast<int64_t>(strings) >> 63);
    const uint64_t scalars = ~(block.operators | block.spaces);
    const uint64_t plain = scalars & ~quotes;
    const uint64_t goes_on = plain << 1 | in_scalar_;
    in_scalar_ = plain >> 63;
    const uint64_t inside = strings ^ quotes;  // with the closing quote
    Result out;
    out.tokens = (block.operators | (scalars & ~goes_on)) & ~inside;
    out.escapes = block.backslashes & ~escaped & strings;
    out.controls = block.controls & strings;
    return out;
  }

  bool in_string() const { return in_string_ != 0; }

 private:
  // Bytes behind an odd number of backslashes.
  uint64_t FindEscaped(uint64_t backslashes) {
    if (backslashes == 0) {
      const uint64_t out = is_escaped_;
      is_escaped_ = 0;
      return out;
    }
    uint64_t out = is_escaped_;
    for (uint64_t rest = backslashes & ~out; rest != 0;) {
      const int i = __builtin_ctzll(rest);
      is_escaped_ = i == 63;
      if (i == 63) return out;
      const uint64_t next = uint64_t{2} << i;
      out |= next;
      rest &= ~(next | next >> 1);
    }
    is_escaped_ = 0;
    return out;
  }

  // Bit i: whether an odd number of bits up to i are set.
  static uint64_t PrefixXor(uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
  }

  uint64_t in_string_ = 0;  // all ones inside
  uint64_t in_scalar_ = 0;
  uint64_t is_escaped_ = 0;
};

}  // namespace tenon
