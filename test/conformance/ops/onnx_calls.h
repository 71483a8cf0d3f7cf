// Recorded operator calls as ONNX models, for a runtime to judge.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/ops/call_program.h"
#include "tensor/value.h"

namespace tenon {

// Writes OPERATOR.N.onnx with .in and .want beside it into a folder, and at the
// end a file OPERATOR.json that names them (conformance/onnx/export_onnx.h).
class OnnxCalls {
 public:
  explicit OnnxCalls(std::filesystem::path folder)
      : folder_(std::move(folder)) {}
  ~OnnxCalls();

  // `results` are right. "" also when the call can't be said in ONNX.
  std::string Add(const CallProgram& call,
                  const std::vector<RuntimeValue>& results, double rtol,
                  double atol);

  uint32_t num_refused() const { return num_refused_; }

 private:
  const std::filesystem::path folder_;
  std::map<std::string, std::vector<std::string>> models_;  // JSON, by operator
  uint32_t num_refused_ = 0;
};

}  // namespace tenon
