// Regions as payloads of ExecuTorch's XNNPACK delegate, for .pte files
// (docs/formats/pte.md). What is known when the file is written, weights above
// all, goes with it as named data; batch norms become part of the convolutions
// before them, and activations part of the nodes before them.
#pragma once

#include "backends/backend.h"

namespace tenon {

class XnnpackBackend : public Backend {
 public:
  // "xnnpack_q8" rounds what XNNPACK has in fewer bits than a program, as
  // ExecuTorch's own exporter does: scales of groups of columns, and biases on
  // integers. "xnnpack" computes what the program says.
  explicit XnnpackBackend(bool rounds = false) : rounds_(rounds) {}

  std::string_view name() const override {
    return rounds_ ? "xnnpack_q8" : "xnnpack";
  }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override;
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override;
  // Always an error: these payloads run in ExecuTorch.
  Expected<std::unique_ptr<Executable>> Load(Bytes payload,
                                             std::shared_ptr<const void> owner,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const override;

 private:
  const bool rounds_;
};

}  // namespace tenon
