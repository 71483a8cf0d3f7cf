// The command that builds an engine from an ONNX model.
#pragma once

#include <string>

#include "formats/onnx/onnx_model.h"
#include "ir/program.h"

namespace tenon::tensorrt {

// "trtexec --onnx=.. --saveEngine=.. --stronglyTyped", and for sizes that vary
// the smallest, likely and largest of each input's sizes: from the ranges of
// `program`, and what the exporter saw. A size without an upper bound has, in
// the largest place, what was seen (or 1), which the caller should raise.
std::string TrtexecLine(const Program& program, const onnx::Model& model,
                        const std::string& onnx_path,
                        const std::string& engine_path);

}  // namespace tenon::tensorrt
