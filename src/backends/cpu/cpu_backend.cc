#include "backends/cpu/cpu_backend.h"

#include <utility>

#include "backends/cpu/executable.h"
#include "backends/cpu/support.h"
#include "backends/declared_writes.h"
#include "backends/region_payload.h"

namespace tenon {
namespace {

Status CheckNodes(const Program& region, Diagnostics& diags) {
  for (const NodeId n : region.nodes(Program::kRoot)) {
    if (region.node(n).kind == NodeKind::kOutput) continue;
    const auto refusal = cpu::WhyRefused(region, n);
    if (!refusal) continue;
    return diags.Error(Rule::kUnsupported,
                       Place::Node(region.Describe(Program::kRoot, n)))
           << "backend cpu does not take this node: " << Name(refusal->reason)
           << ", " << refusal->detail;
  }
  return {};
}

}  // namespace

std::optional<Refusal> CpuBackend::Refuses(const Program& program,
                                           NodeId node) const {
  if (auto refusal = cpu::WhyRefused(program, node)) return refusal;
  // A region may write its inputs, if it returns them; whether it will isn't
  // known of a single node. What belongs to the program stays with it.
  if (WritesGivenStorage(program, node)) {
    return Refusal{RefusalReason::kEffect,
                   "writes storage that the graph was given"};
  }
  return std::nullopt;
}

Expected<CompiledRegion> CpuBackend::Compile(const Program& region,
                                             const BackendOptions&,
                                             Diagnostics& diags) const {
  TENON_TRY(CheckNodes(region, diags));
  TENON_ASSIGN(auto writes, FindDeclaredWrites(name(), region, diags));
  return CompiledRegion{WriteRegionPayload(name(), region), std::move(writes)};
}

Expected<std::unique_ptr<Executable>> CpuBackend::Load(
    Bytes payload, std::shared_ptr<const void>, const BackendOptions& options,
    Diagnostics& diags) const {
  TENON_ASSIGN(Program region, ReadRegionPayload(name(), payload, diags));
  TENON_TRY(CheckNodes(region, diags));
  TENON_ASSIGN(const auto writes, FindDeclaredWrites(name(), region, diags));
  return std::unique_ptr<Executable>(
      std::make_unique<cpu::CpuExecutable>(std::move(region), writes, options));
}

}  // namespace tenon
