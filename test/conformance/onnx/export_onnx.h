// Exported programs as ONNX: what Tenon writes, for ONNX's checker and a
// runtime to judge.
#pragma once

#include <string>

#include "conformance/pt2/run.h"

namespace tenon::conformance {

// For each program of the manifest the folder `keep` gets NAME.onnx, its data,
// and NAME.json, {"rtol", "atol", "models": [{"onnx", "what", "runs": [{"in",
// "want"}]}]}: the program as a whole, on each recorded call, and each region
// that the TensorRT backend takes, on what the reference executor passes it
// there. The arrays are called as the model's inputs and outputs are.
//
// bfloat16 is widened, as ONNX Runtime has no kernels for it. A program that is
// refused is skipped, with a line "SKIP NAME: export: RULE: reason".
int RunExportOnnx(const std::string& manifest, const std::string& keep,
                  const RunOptions& options);

}  // namespace tenon::conformance
