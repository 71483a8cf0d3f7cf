#include "backends/reference/reference_backend.h"

#include <string>

#include "backends/declared_writes.h"
#include "backends/interpreted_region.h"
#include "backends/region_payload.h"
#include "interpreter/interpreter.h"

namespace tenon {

std::optional<Refusal> ReferenceBackend::Refuses(const Program& program,
                                                 NodeId node) const {
  std::string reason = WhyNotInterpretable(program, node);
  if (reason.empty()) return std::nullopt;
  return Refusal{RefusalReason::kOperatorUnknown, std::move(reason)};
}

Expected<CompiledRegion> ReferenceBackend::Compile(const Program& region,
                                                   const BackendOptions&,
                                                   Diagnostics& diags) const {
  TENON_ASSIGN(auto writes, FindDeclaredWrites(name(), region, diags));
  return CompiledRegion{WriteRegionPayload(name(), region), std::move(writes)};
}

Expected<std::unique_ptr<Executable>> ReferenceBackend::Load(
    Bytes payload, std::shared_ptr<const void>, const BackendOptions&,
    Diagnostics& diags) const {
  return LoadInterpretedRegion(name(), payload, diags);
}

}  // namespace tenon
