#include "device_delegates/tensorrt_delegate.h"

#include <algorithm>
#include <utility>

#include "backends/region_payload.h"
#include "device_delegates/engine_check.h"
#include "device_delegates/node_dtypes.h"
#include "formats/tensorrt/engine_container.h"
#include "region_blob/region_blob.h"
#include "tensorrt/capability.h"

namespace tenon {
namespace {

constexpr size_t kMaxRank = 8;

// TensorRT updates a cache in place where rows of a 4-d one are replaced, at
// fixed sizes; other writes are for engines that can do them.
WriteKind KindOf(const Program& region, const DeclaredWrite& write) {
  const Type& cache = region.type(region.root().inputs[write.input]);
  const bool is_cache =
      cache.rank() == 4 &&
      std::all_of(cache.sizes.begin(), cache.sizes.end(),
                  [](const SymInt& s) { return s.is_literal(); });
  const ValueId result = region.outputs(Program::kRoot)[write.output].value();
  if (!is_cache || region.value(result).is_input()) return WriteKind::kUser;
  const NodeId n = region.value(result).def;
  const std::string_view op = region.op_name(n);
  const auto args = region.args(n);
  const bool is_update = op.starts_with("aten.index_copy.") ||
                         op.starts_with("aten.slice_scatter.") ||
                         op.starts_with("aten.index_put.");
  const bool is_direct = !args.empty() && args[0].is_value() &&
                         args[0].value() == region.root().inputs[write.input];
  return is_update && is_direct ? WriteKind::kKvCacheUpdate : WriteKind::kUser;
}

// A plan alone has the bindings that the request names.
Expected<std::vector<std::byte>> Wrap(Bytes plan, const RegionBlob& region,
                                      const DeviceTarget& target,
                                      const Place& place, Diagnostics& diags) {
  EngineContainer container;
  container.engine = plan;
  container.device_id = target.cuda_device;
  const auto add = [](const std::string& name, const BoundaryTensor& tensor,
                      std::vector<EngineBinding>* out) {
    EngineBinding binding;
    binding.name = name;
    binding.dtype = Name(tensor.dtype);
    for (size_t d = 0; d < tensor.rank(); ++d) {
      binding.shape.push_back(tensor.min[d] == tensor.max[d] ? tensor.max[d]
                                                             : -1);
    }
    out->push_back(std::move(binding));
  };
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    add(InputBindingName(i), region.inputs[i], &container.inputs);
  }
  for (size_t j = 0; j < region.outputs.size(); ++j) {
    add(OutputBindingName(j), region.outputs[j], &container.outputs);
  }
  return WriteEngineContainer(container, place, diags);
}

}  // namespace

std::optional<Refusal> TensorrtDelegate::Refuses(const Program& program,
                                                 NodeId node) const {
  if (auto why = tensorrt::WhyRefused(program, node)) return why;
  return RefusesTypes(program, node, kMaxRank);
}

Expected<CompiledRegion> TensorrtDelegate::Compile(
    const Program& region, const BackendOptions& options,
    Diagnostics& diags) const {
  const std::string name(region.name);
  const Place place = Place::Node(name);
  std::vector<DeclaredWrite> writes = options.replaceable;
  for (DeclaredWrite& write : writes) write.kind = KindOf(region, write);
  TENON_ASSIGN(
      const auto block,
      MakeRegionBlock(region, options.constants, writes,
                      WriteRegionPayload(kBlockProgram, WithoutLabels(region)),
                      target_, diags));
  TENON_ASSIGN(auto engine,
               source_({name, block, region, options.constants}, diags));
  TENON_ASSIGN(const RegionBlob request, ReadRegionBlob(block, diags));
  CompiledRegion out;
  if (IsEngineContainer(engine)) {
    out.payload = std::move(engine);
  } else {
    TENON_ASSIGN(out.payload, Wrap(engine, request, target_, place, diags));
  }
  TENON_ASSIGN(const EngineContainer container,
               ReadEngineContainer(out.payload, place, diags));
  TENON_ASSIGN(out.writes, CheckEngine(container, request, target_.cuda_device,
                                       place, diags));
  for (const RegionConstant& c : options.constants) {
    out.absorbed_inputs.push_back(c.input);
  }
  // From positions among what calls pass to those of the region.
  std::vector<uint32_t> passed;
  for (uint32_t i = 0; i < region.root().inputs.size(); ++i) {
    const auto& absorbed = out.absorbed_inputs;
    if (std::find(absorbed.begin(), absorbed.end(), i) == absorbed.end()) {
      passed.push_back(i);
    }
  }
  for (DeclaredWrite& write : out.writes) write.input = passed[write.input];
  return out;
}

Expected<std::unique_ptr<Executable>> TensorrtDelegate::Load(
    Bytes, std::shared_ptr<const void>, const BackendOptions&,
    Diagnostics& diags) const {
  return diags.Error(Rule::kUnsupported)
         << "payloads of backend tensorrt run in ExecuTorch, from a .pte";
}

}  // namespace tenon
