// Where in a model's source a node came from.
#pragma once

#include <string>

#include "ir/program.h"

namespace tenon::lower {

// The innermost frame of the node's stack trace, "model.py:12, in forward"; ""
// when the file says nothing.
std::string ModelLine(const Program& program, NodeId n);

}  // namespace tenon::lower
