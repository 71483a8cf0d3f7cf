// Values as small expressions, for messages.
#pragma once

#include <string>

#include "ir/program.h"

namespace tenon {

// "aten.add.Tensor(aten.relu.default(%x), 1, alpha=2)": what computes the
// value, `depth` nodes deep; what lies deeper stands as its label, "%relu".
// Long lists and texts are cut.
std::string ExpressionText(const Program& program, const Arg& arg, int depth);
std::string ExpressionText(const Program& program, ValueId value, int depth);
std::string ExpressionText(const Program& program, NodeId node, int depth);

// Where the node stood in the user's code, "model.py:12, in forward"; "" when
// the file doesn't say.
std::string SourceLine(const Program& program, NodeId node);

}  // namespace tenon
