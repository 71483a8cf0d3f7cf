// Nodes and initializers that nothing reads, taken out of a graph.
#pragma once

#include "formats/onnx/onnx_model.h"

namespace tenon::onnx {

// Of the outermost graph; graphs inside its nodes read from it and stay whole.
// No ONNX operator that Tenon writes has effects.
void RemoveUnread(Graph* graph);

}  // namespace tenon::onnx
