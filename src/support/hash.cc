#include "support/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace tenon {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Digest::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (int i = 0; i < 16; ++i) {
    out[15 - i] = kDigits[(high >> (4 * i)) & 15];
    out[31 - i] = kDigits[(low >> (4 * i)) & 15];
  }
  return out;
}

bool Digest::FromHex(std::string_view text, Digest* out) {
  if (text.size() != 32) return false;
  uint64_t words[2] = {0, 0};
  for (size_t i = 0; i < 32; ++i) {
    const int v = HexValue(text[i]);
    if (v < 0) return false;
    words[i / 16] = words[i / 16] << 4 | static_cast<uint64_t>(v);
  }
  *out = {words[0], words[1]};
  return true;
}

Digest HashBytes(const void* data, size_t size_bytes) {
  const XXH128_hash_t h = XXH3_128bits(data, size_bytes);
  return {h.high64, h.low64};
}

void Hasher::Add(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  Add(bits);
}

void Hasher::Add(std::string_view text) {
  Add(static_cast<uint64_t>(text.size()));
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    Add(word);
  }
}

Digest Hasher::Finish() const {
  const Digest head = HashBytes(words_, size_ * sizeof(uint64_t));
  if (spilled_.empty()) return head;
  // The rest is hashed behind the head's digest.
  std::vector<uint64_t> rest = {head.high, head.low};
  rest.insert(rest.end(), spilled_.begin(), spilled_.end());
  return HashBytes(rest.data(), rest.size() * sizeof(uint64_t));
}

}  // namespace tenon
