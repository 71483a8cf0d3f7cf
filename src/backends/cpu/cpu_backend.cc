#include "backends/cpu/cpu_backend.h"

#include <algorithm>
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

bool IsWritten(const std::vector<DeclaredWrite>& writes,
               const DeclaredWrite& write) {
  return std::any_of(writes.begin(), writes.end(), [&](const DeclaredWrite& w) {
    return w.input == write.input || w.output == write.output;
  });
}

}  // namespace

std::optional<Refusal> CpuBackend::Refuses(const Program& program,
                                           NodeId node) const {
  return cpu::WhyRefused(program, node);
}

Expected<CompiledRegion> CpuBackend::Compile(const Program& region,
                                             const BackendOptions& options,
                                             Diagnostics& diags) const {
  TENON_TRY(CheckNodes(region, diags));
  TENON_ASSIGN(auto writes, FindDeclaredWrites(name(), region, diags));
  std::vector<DeclaredWrite> replaced;
  for (const DeclaredWrite& write : options.replaceable) {
    if (!IsWritten(writes, write)) replaced.push_back(write);
  }
  writes.insert(writes.end(), replaced.begin(), replaced.end());
  return CompiledRegion{WriteRegionPayload(name(), region, replaced),
                        std::move(writes)};
}

Expected<std::unique_ptr<Executable>> CpuBackend::Load(
    Bytes payload, std::shared_ptr<const void>, const BackendOptions& options,
    Diagnostics& diags) const {
  std::vector<DeclaredWrite> replaced;
  TENON_ASSIGN(Program region,
               ReadRegionPayload(name(), payload, diags, &replaced));
  TENON_TRY(CheckNodes(region, diags));
  TENON_ASSIGN(const auto writes, FindDeclaredWrites(name(), region, diags));
  for (const DeclaredWrite& write : replaced) {
    if (!IsWritten(writes, write)) continue;
    return diags.Error(Rule::kText)
           << "payload of backend cpu: input " << write.input
           << " is written and replaced, too";
  }
  return std::unique_ptr<Executable>(std::make_unique<cpu::CpuExecutable>(
      std::move(region), writes, std::move(replaced), options));
}

}  // namespace tenon
