// `tenon export-onnx`: a program as an ONNX file, and its weights beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "onnx/translate_program.h"
#include "support/expected.h"

namespace tenon {

struct OnnxExportReport {
  onnx::Model model;  // without the bytes of the data file
  int64_t opset = 0;
  uint64_t num_nodes = 0;
  uint64_t model_bytes = 0, data_bytes = 0;
  std::string data_path;  // "" when there is no data file
  std::vector<onnx::Port> inputs, outputs;
  std::vector<std::string> notes;
};

// Writes PATH, and PATH.data where weights lie outside. The data file appears
// before the model that names it; both are written whole before either does, so
// a full disk leaves what was there. `known` is as in TranslateProgram.
Expected<OnnxExportReport> ExportOnnx(
    const Program& program, const std::vector<onnx::KnownInput>& known,
    const std::string& path, const onnx::TranslateOptions& options,
    Diagnostics& diags);

}  // namespace tenon
