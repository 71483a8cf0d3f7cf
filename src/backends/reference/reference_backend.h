// The reference backend: interprets its regions with the reference kernels, and
// takes what the interpreter can run.
#pragma once

#include "backends/backend.h"

namespace tenon {

class ReferenceBackend : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override;
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override;
  Expected<std::unique_ptr<Executable>> Load(Bytes payload,
                                             std::shared_ptr<const void> owner,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const override;
};

}  // namespace tenon
