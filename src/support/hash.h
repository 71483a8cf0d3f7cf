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
// that ("a", "bc") and ("ab", "c") differ.
class Hasher {
 public:
  Hasher() { buffer_.reserve(32); }
  void Reset() { buffer_.clear(); }
  void Add(uint64_t word) { buffer_.push_back(word); }
  void Add(const Digest& d) {
    Add(d.high);
    Add(d.low);
  }
  void Add(double value);
  void Add(std::string_view text);
  Digest Finish() const {
    return HashBytes(buffer_.data(), buffer_.size() * sizeof(uint64_t));
  }

 private:
  std::vector<uint64_t> buffer_;
};

}  // namespace tenon
