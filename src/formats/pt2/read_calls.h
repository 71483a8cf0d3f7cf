// Reads module_call_graph: the calling conventions of the program and of its
// submodules (rules S-1, S-7).
#pragma once

#include <string_view>

#include "formats/json/json_input.h"
#include "formats/pt2/read_graph.h"
#include "ir/program.h"

namespace tenon {

Status ReadModuleCalls(const JsonInput& json, const JsonElement& e,
                       const JsonPath& path, GraphReader* graph,
                       Program* program);

// The text of an in_spec or out_spec.
Expected<TreeSpec> ReadTreeSpec(std::string_view text, const JsonInput& json,
                                const JsonPath& path);

}  // namespace tenon
