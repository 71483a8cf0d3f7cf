#include "support/utf8.h"

#include <cstdint>
#include <cstring>

namespace tenon {
namespace {

// By how many bytes follow: what of the first belongs to the code point, and
// the lowest one that needs as many.
constexpr uint32_t kLeadMask[] = {0x7F, 0x1F, 0x0F, 0x07};
constexpr uint32_t kLowest[] = {0, 0x80, 0x800, 0x10000};

}  // namespace

uint32_t Utf8CodePoint(std::string_view character) {
  uint32_t code = static_cast<unsigned char>(character[0]) &
                  kLeadMask[character.size() - 1];
  for (const char c : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  }
  return code;
}

size_t Utf8Bytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t more = lead < 0x80           ? 0
                      : (lead >> 5) == 0x06 ? 1
                      : (lead >> 4) == 0x0E ? 2
                      : (lead >> 3) == 0x1E ? 3
                                            : 4;
  if (more == 4 || more >= text.size() - at) return 0;
  for (size_t k = 1; k <= more; ++k) {
    if ((static_cast<unsigned char>(text[at + k]) & 0xC0) != 0x80) return 0;
  }
  const uint32_t code = Utf8CodePoint(text.substr(at, more + 1));
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kLowest[more] || code > 0x10FFFF || is_surrogate) return 0;
  return more + 1;
}

size_t FindBadUtf8(std::string_view text) {
  constexpr uint64_t kWide = 0x8080808080808080u;
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight;
    if (text.size() - at >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if ((eight & kWide) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const size_t bytes = Utf8Bytes(text, at);
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  *out += static_cast<char>(kLead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) {
    *out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
  }
}

}  // namespace tenon
