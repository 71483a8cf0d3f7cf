// TensorRT's part of a program, written as ONNX and run by the reference
// kernels, which keep what each call passed and gave.
#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "formats/tensor/safetensors.h"
#include "onnx/translate_program.h"

namespace tenon::conformance {

struct RecordedRegion {
  std::string name;  // of the file, without .onnx
  std::vector<onnx::Port> inputs, outputs;
  struct Call {
    Safetensors in, want;  // by names of the model's inputs and outputs
  };
  std::vector<Call> calls;
};

class RecordingBackend : public Backend {
 public:
  // Regions are PREFIX0.onnx, PREFIX1.onnx, ..
  explicit RecordingBackend(std::filesystem::path prefix)
      : prefix_(std::move(prefix)) {}

  // The delegates are no engines: their payloads are those of the reference.
  std::string_view name() const override { return "tensorrt"; }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override;
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override;
  Expected<std::unique_ptr<Executable>> Load(Bytes payload,
                                             std::shared_ptr<const void> owner,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const override;

  const std::deque<RecordedRegion>& regions() const { return regions_; }
  // Regions all of whose nodes were taken, and which still couldn't be written.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  const std::filesystem::path prefix_;
  mutable std::deque<RecordedRegion> regions_;
  mutable std::vector<std::string> failures_;
};

}  // namespace tenon::conformance
