// The graphs that no pass may change.
#pragma once

#include <vector>

#include "ir/program.h"

namespace tenon {

// What delegates were compiled from, with all that these graphs hold and call:
// changed, they would no longer say what the payloads compute. No graph twice.
std::vector<GraphId> GraphsOfDelegates(const Program& program);

}  // namespace tenon
