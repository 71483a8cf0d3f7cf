// A program's root graph as a picture: Graphviz's language, and SVG by way of
// Graphviz.
#pragma once

#include <string>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::tools {

// Nodes are boxes; calls of children and delegates are filled, one colour per
// backend. Inputs that stand for state are left out: they would hide the rest.
std::string GraphAsDot(const Program& program);

// Runs Graphviz's `dot`. Fails, saying so, where it isn't installed, and on
// graphs of more nodes than it can lay out in reasonable time.
Status WriteSvg(const Program& program, const std::string& path,
                Diagnostics& diags);

}  // namespace tenon::tools
