// Regions as payloads of ExecuTorch's XNNPACK delegate, for .pte files
// (docs/formats/pte.md). What is known when the file is written, weights above
// all, goes with it as named data; batch norms become part of the convolutions
// before them, and activations part of the nodes before them.
#pragma once

#include "backends/backend.h"

namespace tenon {

class XnnpackBackend : public Backend {
 public:
  // "xnnpack_q8": biases of products and convolutions on integers are rounded
  // to a unit of the sums that they are added to, whatever that does. "xnnpack"
  // rounds them only where it does nothing (translate_integers.h).
  explicit XnnpackBackend(bool rounds_biases = false)
      : rounds_biases_(rounds_biases) {}

  std::string_view name() const override {
    return rounds_biases_ ? "xnnpack_q8" : "xnnpack";
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
  const bool rounds_biases_;
};

}  // namespace tenon
