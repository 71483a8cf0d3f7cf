#include "backends/echo/echo_backend.h"

#include "backends/declared_writes.h"
#include "backends/interpreted_region.h"
#include "backends/region_payload.h"

namespace tenon {

std::optional<Refusal> EchoBackend::Refuses(const Program&, NodeId) const {
  return std::nullopt;
}

Expected<CompiledRegion> EchoBackend::Compile(const Program& region,
                                              const BackendOptions&,
                                              Diagnostics& diags) const {
  TENON_ASSIGN(auto writes, FindDeclaredWrites(name(), region, diags));
  return CompiledRegion{WriteRegionPayload(name(), region), std::move(writes)};
}

Expected<std::unique_ptr<Executable>> EchoBackend::Load(
    Bytes payload, std::shared_ptr<const void>, const BackendOptions&,
    Diagnostics& diags) const {
  return LoadInterpretedRegion(name(), payload, diags);
}

}  // namespace tenon
