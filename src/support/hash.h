// 128-bit digests: stable over versions of Tenon and over machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;

  friend bool operator==(const Digest&, const Digest&) = default;
  friend bool operator<(const Digest& a, const Digest& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }

  // 32 lower-case hexadecimal digits.
  std::string ToHex() const;
  // False when `text` isn't 32 hexadecimal digits.
  static bool FromHex(std::string_view text, Digest* out);
};

// XXH3 with 128 bits.
Digest HashBytes(const void* data, size_t size_bytes);

// Collects words and hashes them at the end. Each item is self-delimiting, so
// that ("a", "bc") and ("ab", "c") differ. Short inputs need no allocation.
class Hasher {
 public:
  void Reset() {
    size_ = 0;
    spilled_.clear();
  }
  void Add(uint64_t word) {
    if (size_ < kInlineWords) {
      words_[size_++] = word;
    } else {
      spilled_.push_back(word);
    }
  }
  void Add(const Digest& d) {
    Add(d.high);
    Add(d.low);
  }
  void Add(double value);
  void Add(std::string_view text);
  Digest Finish() const;

 private:
  static constexpr size_t kInlineWords = 48;

  size_t size_ = 0;
  uint64_t words_[kInlineWords];
  std::vector<uint64_t> spilled_;
};

}  // namespace tenon
