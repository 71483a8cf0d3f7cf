// What a bug case expects of a program beside its results.
#pragma once

#include <simdjson.h>

#include <string>

#include "ir/program.h"

namespace tenon::conformance {

// "" when every fact of `expect` that is about the program or its file holds,
// else the first that doesn't. `path` is the file.
std::string CheckFacts(const simdjson::dom::object& expect,
                       const Program& program, const std::string& path);

}  // namespace tenon::conformance
