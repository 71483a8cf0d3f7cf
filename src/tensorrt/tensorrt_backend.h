// The TensorRT backend: it says which parts of a program TensorRT can have and
// writes them as ONNX. Engines are built elsewhere, by trtexec, on the machine
// whose GPU is to run them.
#pragma once

#include "backends/backend.h"

namespace tenon {

class TensorrtBackend : public Backend {
 public:
  std::string_view name() const override { return "tensorrt"; }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override;
  // Bindings are tensors.
  ScalarBoundary scalar_boundary() const override {
    return ScalarBoundary::kZeroDimTensor;
  }
  // Always an error, which names what is missing: an engine, and the command
  // that makes one.
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override;
  Expected<std::unique_ptr<Executable>> Load(Bytes payload,
                                             std::shared_ptr<const void> owner,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const override;
};

const Backend& GetTensorrtBackend();

}  // namespace tenon
