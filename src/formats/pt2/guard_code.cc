#include "formats/pt2/guard_code.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

namespace tenon {
namespace {

constexpr std::string_view kWords[] = {
    "L",     "size", "stride", "storage_offset",
    "shape", "dim",  "ndim",   "numel",
    "len",   "and",  "or",     "not",
    "is",    "in",   "None",   "True",
    "False",
};

bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The end of the literal that starts with a quote at `start`; 0 when it doesn't
// end on its line.
size_t EndOfText(std::string_view guard, size_t start) {
  for (size_t i = start + 1; i < guard.size() && guard[i] != '\n'; ++i) {
    if (guard[i] == '\\') {
      ++i;
    } else if (guard[i] == guard[start]) {
      return i + 1;
    }
  }
  return 0;
}

bool IsHarmlessWord(std::string_view word) {
  // 0x10, 1_000, 2.5: a number whatever follows its first digit.
  if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) return true;
  return std::find(std::begin(kWords), std::end(kWords), word) !=
         std::end(kWords);
}

}  // namespace

bool IsHarmlessGuard(std::string_view guard) {
  constexpr std::string_view kOperators = "()].,+-*/%=!<> \t";
  const bool has_product = guard.find('*') != std::string_view::npos;
  char before = ' ';  // the last byte that wasn't a blank
  size_t i = 0;
  while (i < guard.size()) {
    const char c = guard[i];
    const size_t start = i;
    if (c == '\'' || c == '"') {
      i = EndOfText(guard, start);
      if (i == 0) return false;
      const bool is_key = before == '[' && guard.substr(i, 1) == "]";
      if (has_product && !is_key) return false;
    } else if (IsWordByte(c)) {
      while (i < guard.size() && IsWordByte(guard[i])) ++i;
      // f'...' and the like are code, too.
      const bool is_prefix =
          i < guard.size() && (guard[i] == '\'' || guard[i] == '"');
      if (is_prefix || !IsHarmlessWord(guard.substr(start, i - start))) {
        return false;
      }
    } else if (c == '[') {
      // A subscript, not a list.
      if (before != ']' && before != ')' && !IsWordByte(before)) return false;
      ++i;
    } else {
      if (kOperators.find(c) == std::string_view::npos) return false;
      if (guard.substr(i, 2) == "**" || (c == ',' && has_product)) return false;
      ++i;
    }
    if (c != ' ' && c != '\t') before = c;
  }
  return true;
}

}  // namespace tenon
