// UTF-8, as untrusted text has to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

// Offset of the first byte that begins no well-formed character (overlong
// forms and surrogates aren't); npos when all of `text` is UTF-8.
size_t FindBadUtf8(std::string_view text);

inline bool IsUtf8(std::string_view text) {
  return FindBadUtf8(text) == std::string_view::npos;
}

// Bytes of the character at `at`; 0 when it is malformed.
size_t Utf8Bytes(std::string_view text, size_t at);

// The code point of one well-formed character.
uint32_t Utf8CodePoint(std::string_view character);

// Appends the character of that code point, at most 0x10FFFF.
void AppendUtf8(uint32_t code, std::string* out);

}  // namespace tenon
