#include "device_delegates/cuda_backend.h"

#include <utility>

#include "backends/declared_writes.h"
#include "backends/region_payload.h"
#include "device_delegates/node_dtypes.h"
#include "support/hash.h"

namespace tenon {
namespace {

constexpr size_t kMaxRank = 16;

// Regions are run by whoever offers an executor; every operator that can be
// interpreted means something to it.
const Backend& Reference() {
  static const Backend* const reference = FindBackend("reference");
  return *reference;
}

}  // namespace

std::optional<Refusal> CudaBackend::Refuses(const Program& program,
                                            NodeId node) const {
  if (auto refusal = Reference().Refuses(program, node)) return refusal;
  return RefusesTypes(program, node, kMaxRank);
}

Expected<CompiledRegion> CudaBackend::Compile(const Program& region,
                                              const BackendOptions& options,
                                              Diagnostics& diags) const {
  TENON_ASSIGN(const auto written, FindDeclaredWrites(name(), region, diags));
  if (!written.empty()) {
    return diags.Error(Rule::kUnsupported)
           << "backend cuda: the region writes an input in place";
  }
  CompiledRegion compiled;
  compiled.writes = options.replaceable;
  TENON_ASSIGN(
      auto block,
      MakeRegionBlock(region, options.constants, compiled.writes,
                      WriteRegionPayload(kBlockProgram, WithoutLabels(region)),
                      target_, diags));
  for (const RegionConstant& c : options.constants) {
    compiled.absorbed_inputs.push_back(c.input);
  }
  const auto owner =
      std::make_shared<const std::vector<std::byte>>(std::move(block));
  Hasher hasher;
  hasher.Add(HashBytes(library_.data(), library_.size()));
  hasher.Add(HashBytes(owner->data(), owner->size()));
  const std::string digest = "tenon_" + hasher.Finish().ToHex();
  const std::string library_key = digest + "_so_blob";
  const std::string block_key = digest + "_weights_blob";
  compiled.named_data.push_back({library_key, library_, nullptr});
  compiled.named_data.push_back({block_key, *owner, owner});
  const Bytes text = AsBytes(library_key);
  compiled.payload.assign(text.begin(), text.end());
  compiled.payload.push_back(std::byte{'\n'});
  const Bytes rest = AsBytes(block_key);
  compiled.payload.insert(compiled.payload.end(), rest.begin(), rest.end());
  return compiled;
}

Expected<std::unique_ptr<Executable>> CudaBackend::Load(
    Bytes, std::shared_ptr<const void>, const BackendOptions&,
    Diagnostics& diags) const {
  return diags.Error(Rule::kUnsupported)
         << "payloads of backend cuda run in ExecuTorch, from a .pte";
}

}  // namespace tenon
