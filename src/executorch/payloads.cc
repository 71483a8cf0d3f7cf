#include "executorch/payloads.h"

#include <memory>
#include <optional>
#include <utility>

namespace tenon::executorch {

PtePayloadRef Payloads::Place(const std::vector<std::byte>& payload,
                              PteExportReport* report) {
  const auto [at, is_new] =
      known_.emplace(ContentKeyOf(payload), PtePayloadRef());
  if (!is_new) {
    report->deduplicated += payload.size();
    return at->second;
  }
  report->payload_bytes += payload.size();
  const auto bytes = std::make_shared<const std::vector<std::byte>>(payload);
  if (is_inline_) {
    at->second = {PtePayloadPlace::kInline,
                  static_cast<uint32_t>(program_.inline_payloads.size())};
    program_.inline_payloads.push_back({{*bytes, bytes, kPteInlineAlignment}});
  } else {
    at->second = {PtePayloadPlace::kSegment,
                  static_cast<uint32_t>(program_.segments.size())};
    program_.segments.push_back({*bytes, bytes, kPteSegmentAlignment});
  }
  return at->second;
}

Status Payloads::Add(const std::vector<DelegateRegion>& regions,
                     Weights* weights, PtePlan* plan, PteExportReport* report,
                     Diagnostics& diags) {
  for (PteDelegate& delegate : plan->delegates) {
    const DelegateRegion& region = regions[delegate.payload.index];
    const auto separate = separator_.Separate(region);
    const CompiledRegion& compiled = separate ? *separate : region.compiled;
    AddDeviceSpecs(region, plan->name, &delegate);
    delegate.payload = Place(compiled.payload, report);
    for (const NamedBytes& named : compiled.named_data) {
      if (weights->StoreNamed(named,
                              IsLibraryOf(region, compiled, named.key))) {
        continue;
      }
      return diags.Error(Rule::kPte29, tenon::Place::Node(plan->name))
             << "two delegates ask for different data by the key '" << named.key
             << "'";
    }
  }
  return {};
}

}  // namespace tenon::executorch
