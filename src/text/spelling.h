// How single names, strings and numbers are spelled in the text form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/byte_cursor.h"

namespace tenon {

// Characters of words and of unquoted names after % and @.
inline bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
}

// Whether `text` needs no quotes after % or @: not empty, name characters.
bool IsBareName(std::string_view text);
// Whether `text` is a word: a bare name that starts with a letter or '_'.
bool IsWord(std::string_view text);

// In double quotes. What isn't printable or valid UTF-8 is escaped, so that
// every byte string comes back.
void AppendQuoted(std::string_view text, std::string* out);
// The inside of a quoted string whose escapes the lexer has checked.
std::string Unescape(std::string_view inside);

// As a word, else in quotes.
void AppendWord(std::string_view text, std::string* out);
// The label after its sigil, and "#n" when it is the n-th with that label.
void AppendName(char sigil, std::string_view label, uint32_t ordinal,
                std::string* out);

void AppendInt(int64_t value, std::string* out);
// Shortest text that reads back to the same bits; never looks like an integer.
void AppendDouble(double value, std::string* out);
void AppendHex(Bytes bytes, std::string* out);  // hex"00ff"

}  // namespace tenon
