// JSON text as Python's json.dumps spells it: ", " and ": " between tokens,
// everything beyond ASCII escaped, shortest floats with a point or exponent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

// `text` is UTF-8; what isn't comes out as U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);
// Non-finite floats become the strings "Infinity", "-Infinity", "NaN".
void AppendJsonFloat(double value, std::string* out);
void AppendJsonInt(int64_t value, std::string* out);

// Whether `text` is one JSON value of moderate depth.
bool IsJson(std::string_view text);

}  // namespace tenon
