#include "device_delegates/cuda_backend.h"

#include <utility>

#include "device_delegates/node_dtypes.h"
#include "support/hash.h"

namespace tenon {
namespace {

const Backend& Cpu() {
  static const Backend* const cpu = FindBackend("cpu");
  return *cpu;
}

}  // namespace

std::optional<Refusal> CudaBackend::Refuses(const Program& program,
                                            NodeId node) const {
  if (auto refusal = Cpu().Refuses(program, node)) return refusal;
  return RefusesTypes(program, node, 64);
}

Expected<CompiledRegion> CudaBackend::Compile(const Program& region,
                                              const BackendOptions& options,
                                              Diagnostics& diags) const {
  BackendOptions without = options;
  without.constants.clear();
  TENON_ASSIGN(CompiledRegion compiled, Cpu().Compile(WithoutLabels(region), without, diags));
  TENON_ASSIGN(
      auto block,
      MakeRegionBlock(region, options.constants, compiled.writes,
                      compiled.payload, target_, diags));
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
