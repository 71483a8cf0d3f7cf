// JSON as Python's json module reads it. It takes more than the standard: lone
// surrogates in escapes, integers of any length. A file that hides behind those
// must not go unseen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/json/json_input.h"
#include "support/byte_cursor.h"

namespace tenon {

// Deeper documents don't load in Python, whose limit is near 1000.
constexpr uint32_t kMaxPythonJsonDepth = 2048;

// Parses into `json`, which owns the document. When the text is no JSON, false
// with `problem` set.
bool ParseAsPythonDoes(Bytes text, const std::string& name, JsonInput* json,
                       std::string* problem);

// The same document with what only Python takes replaced: lone surrogates by
// U+FFFD, integers of more than 18 digits by 0.
std::string WithoutPythonsOwn(std::string_view text);

}  // namespace tenon
