#include "xnnpack/xnnpack_backend.h"

#include <utility>

#include "xnnpack/stored_tensor.h"
#include "xnnpack/translate_region.h"
#include "xnnpack/xnn_payload.h"

namespace tenon {

std::optional<Refusal> XnnpackBackend::Refuses(const Program& program,
                                               NodeId node) const {
  return xnnpack::WhyRefused(program, node, [&](ValueId v) {
    return xnnpack::StoredTensor(program, v);
  });
}

Expected<CompiledRegion> XnnpackBackend::Compile(const Program& region,
                                                 const BackendOptions& options,
                                                 Diagnostics& diags) const {
  TENON_ASSIGN(
      xnnpack::TranslatedRegion translated,
      xnnpack::TranslateRegion(region, options.constants, rounds_, diags));
  CompiledRegion out;
  for (const RegionConstant& c : options.constants) {
    out.absorbed_inputs.push_back(c.input);
  }
  out.named_data = std::move(translated.data);
  out.payload = xnnpack::WritePayload(translated.graph);
  if (out.payload.empty()) {
    return diags.Error(Rule::kUnsupported)
           << "backend xnnpack: the region's graph is larger than 2 GiB";
  }
  return out;
}

Expected<std::unique_ptr<Executable>> XnnpackBackend::Load(
    Bytes, std::shared_ptr<const void>, const BackendOptions&,
    Diagnostics& diags) const {
  return diags.Error(Rule::kUnsupported)
         << "payloads of backend xnnpack run in ExecuTorch, from a .pte";
}

}  // namespace tenon
