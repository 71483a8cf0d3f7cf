// What TensorRT takes of a program: what ONNX can say (onnx/task.h) and the
// parser reads (capabilities.def, a table with release and reasons).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "formats/onnx/onnx_model.h"
#include "ir/program.h"

namespace tenon::tensorrt {

// "TensorRT 11".
std::string_view Release();

// Why the node stays in the graph, or nothing. The node is lowered and
// translated alone, so that the answer is what a translation of a region gives.
std::optional<Refusal> WhyRefused(const Program& program, NodeId node);

// The same of a model: the first of its nodes that the parser doesn't take.
std::optional<Refusal> WhyRefused(const onnx::Model& model);

}  // namespace tenon::tensorrt
