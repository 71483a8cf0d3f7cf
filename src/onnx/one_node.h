// One node of a program, as a program.
#pragma once

#include "ir/program.h"

namespace tenon::onnx {

// Its inputs are what the node takes, each value once, its outputs those of its
// results that somebody reads. Ranges come along, state doesn't. The cost is
// that of the node.
Program ExtractNode(const Program& program, NodeId node);

}  // namespace tenon::onnx
