// Reads the graph signature, and resolves its names to values and state.
#pragma once

#include <string_view>
#include <vector>

#include "formats/json/json_input.h"
#include "formats/pt2/read_graph.h"
#include "formats/pt2/read_state.h"
#include "ir/program.h"

namespace tenon {

// The names that input specs give to literal inputs, by position; invalid
// where a spec gives none. Needed before the graph can be read.
Expected<std::vector<StringId>> ReadLiteralNames(const JsonInput& json,
                                                 const JsonElement& signature,
                                                 const JsonPath& path,
                                                 Context* context);

// After the root graph: fills program->signature and gives state entries the
// kinds that their specs state. A spec must name the graph's input or output
// at its own position.
Status ReadSignature(const JsonInput& json, const JsonElement& signature,
                     const JsonPath& path, GraphReader* graph,
                     const StateNames& state, Program* program);

}  // namespace tenon
