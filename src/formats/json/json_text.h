// JSON text as Python's json.dumps spells it: ", " and ": " between tokens,
// everything beyond ASCII escaped, shortest floats with a point or exponent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "diag/diagnostics.h"
#include "support/expected.h"

namespace tenon {

// `text` is UTF-8. Bytes of it that aren't come out as they are, so that what
// is made of them is no JSON: whoever writes a document asks CheckJsonText.
void AppendJsonString(std::string_view text, std::string* out);
// An error where `json`, made by these functions, has a string that isn't
// UTF-8.
Status CheckJsonText(std::string_view json, const Place& place,
                     Diagnostics& diags);
// Non-finite floats become the strings "Infinity", "-Infinity", "NaN".
void AppendJsonFloat(double value, std::string* out);
void AppendJsonInt(int64_t value, std::string* out);

// Whether `text` is one JSON value of moderate depth.
bool IsJson(std::string_view text);

}  // namespace tenon
