#include "executorch/device_delegates.h"

#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "executorch/plan_emitter.h"
#include "formats/pte/kernels.h"
#include "support/byte_cursor.h"

namespace tenon::executorch {
namespace {

void AddSpec(std::string_view key, std::string_view text,
             PteDelegate* delegate) {
  const Bytes bytes = AsBytes(text);
  const auto owner = std::make_shared<const std::vector<std::byte>>(
      bytes.begin(), bytes.end());
  delegate->specs.push_back(
      {std::string(key), {*owner, owner, kPteInlineAlignment}});
}

// Payloads of cuda are "LIBRARY KEY\nBLOCK KEY".
std::string_view LibraryKeyOf(const CompiledRegion& compiled) {
  const std::string_view payload = AsText(compiled.payload);
  return payload.substr(0, payload.find('\n'));
}

}  // namespace

DeviceTraffic TrafficOf(const PtePlan& plan, InstructionRange fills) {
  DeviceTraffic out;
  const auto& instructions = plan.chains[0].instructions;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const auto* call = std::get_if<PteKernelCall>(&instructions[i].action);
    if (call == nullptr) continue;
    const std::string name =
        KernelName(plan.operators[static_cast<size_t>(call->operator_index)]);
    const bool to_device = name == "et_copy::_h2d_copy.out";
    if (!to_device && name != "et_copy::_d2h_copy.out") continue;
    const PteTensor& tensor =
        *plan.values[static_cast<size_t>(call->args[0])].tensor();
    if (fills.begin <= i && i < fills.end) {
      out.initial_bytes += BytesOf(tensor).value_or(0);
      continue;
    }
    ++(to_device ? out.num_to_device : out.num_to_host);
    (to_device ? out.bytes_to_device : out.bytes_to_host) +=
        BytesOf(tensor).value_or(0);
  }
  return out;
}

void AddDeviceSpecs(const DelegateRegion& region, const std::string& method,
                    PteDelegate* delegate) {
  if (region.device == MemoryBlock::kHost) return;
  AddSpec("target_device", "cuda:" + std::to_string(int{region.device}),
          delegate);
  AddSpec("method_name", method, delegate);
}

bool IsLibraryOf(const DelegateRegion& region, const CompiledRegion& compiled,
                 std::string_view key) {
  return region.runtime_name == RuntimeNameOf("cuda") &&
         LibraryKeyOf(compiled) == key;
}

std::optional<CompiledRegion> KeySeparator::Separate(
    const DelegateRegion& region) {
  if (region.runtime_name != RuntimeNameOf("cuda")) return std::nullopt;
  const std::string key(LibraryKeyOf(region.compiled));
  const uint32_t n = num_seen_[key]++;
  if (n == 0) return std::nullopt;
  CompiledRegion out = region.compiled;
  const std::string other = std::to_string(n) + "_" + key;
  for (NamedBytes& named : out.named_data) {
    if (named.key == key) named.key = other;
  }
  const std::string text =
      other + std::string(AsText(region.compiled.payload).substr(key.size()));
  const Bytes bytes = AsBytes(text);
  out.payload.assign(bytes.begin(), bytes.end());
  return out;
}

}  // namespace tenon::executorch
