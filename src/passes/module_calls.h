// Recorded calls of submodules, kept true while a pass changes the graph.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tenon {

// Lets the recorded signatures of submodules refer to values as they are after
// a pass: `now[v]` is what value v became, invalid when it is gone; values
// behind the table's end, and values that `now` maps to themselves, stayed. A
// signature with a value that is gone has lost its meaning and is left out,
// which a note says.
void UpdateModuleCalls(const std::vector<ValueId>& now, Program* program,
                       std::vector<std::string>* notes);

// A table for UpdateModuleCalls in which each value that some graph still has
// stayed and all others are gone.
std::vector<ValueId> LiveValues(const Program& program);

}  // namespace tenon
