// The fast backend: plans per input geometry, one arena, vectorised loops.
//
// Compile keeps the region as text; Load reads it, and the first run on inputs
// of a new geometry makes a plan (plan.h). Further runs on that geometry follow
// the plan and allocate nothing but the outputs. The last few geometries are
// kept.
#pragma once

#include "backends/backend.h"

namespace tenon {

class CpuBackend : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::optional<Refusal> Refuses(const Program& program,
                                 NodeId node) const override;
  bool preserves_aliasing() const override { return true; }
  Expected<CompiledRegion> Compile(const Program& region,
                                   const BackendOptions& options,
                                   Diagnostics& diags) const override;
  Expected<std::unique_ptr<Executable>> Load(Bytes payload,
                                             std::shared_ptr<const void> owner,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const override;
};

}  // namespace tenon
