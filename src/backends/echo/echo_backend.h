// The echo backend: takes every operator and interprets its regions. For tests
// of partitioning, delegation and files, where what matters is that a region
// travels as a payload, not how fast it runs.
#pragma once

#include "backends/backend.h"

namespace tenon {

class EchoBackend : public Backend {
 public:
  std::string_view name() const override { return "echo"; }
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
