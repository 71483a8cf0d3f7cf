// The graphs that run when the root does.
#pragma once

#include <vector>

#include "ir/program.h"

namespace tenon::lower {

// The root first, then what it and its graphs call or hold, each once. What
// delegates were compiled from isn't among them.
std::vector<GraphId> LiveGraphs(const Program& program);

}  // namespace tenon::lower
