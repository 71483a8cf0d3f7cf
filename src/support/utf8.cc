#include "support/utf8.h"

#include <cstdint>
#include <cstring>

namespace tenon {
namespace {

// Bytes of the character at `at`; 0 when it is malformed.
size_t CharacterBytes(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const size_t more = lead < 0x80           ? 0
                      : (lead >> 5) == 0x06 ? 1
                      : (lead >> 4) == 0x0E ? 2
                      : (lead >> 3) == 0x1E ? 3
                                            : 4;
  if (more == 4 || more >= text.size() - at) return 0;
  uint32_t code = more == 0 ? lead : lead & (0x3Fu >> more);
  for (size_t k = 1; k <= more; ++k) {
    const auto c = static_cast<unsigned char>(text[at + k]);
    if ((c & 0xC0) != 0x80) return 0;
    code = code << 6 | (c & 0x3F);
  }
  static constexpr uint32_t kLowest[] = {0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kLowest[more] || code > 0x10FFFF || is_surrogate) return 0;
  return more + 1;
}

}  // namespace

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
    const size_t bytes = CharacterBytes(text, at);
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
