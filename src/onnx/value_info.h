// Types of values as ONNX states them.
#pragma once

#include <string>

#include "formats/onnx/onnx_model.h"
#include "ir/program.h"

namespace tenon::onnx {

// Sizes are numbers, or called as the program calls them: "s0", "2*s0". Numbers
// beside tensors are tensors of rank 0.
ValueInfo InfoOf(const Program& program, ValueId v, std::string name);

}  // namespace tenon::onnx
