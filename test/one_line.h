// The text of a program without the line breaks inside of lists, for tests that
// look for a part of it.
#pragma once

#include <string>

#include "text/text.h"

namespace tenon {

// `text` as a printer gave it.
inline std::string OnOneLine(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_broken =
        text[i] == '\n' && !out.empty() &&
        (out.back() == '(' || out.back() == ',' || out.back() == '[');
    if (!is_broken) {
      out += text[i];
      continue;
    }
    if (out.back() == ',') out += ' ';
    while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
  }
  return out;
}

inline std::string PrintOnOneLine(const Program& program) {
  PrintOptions options;
  options.metadata = false;
  return OnOneLine(PrintProgram(program, options));
}

}  // namespace tenon
