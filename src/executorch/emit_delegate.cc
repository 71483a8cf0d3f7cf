// Calls of delegates, and what their payloads are to the file.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "executorch/plan_emitter.h"

namespace tenon::executorch {

bool PlanEmitter::EmitDelegate(GraphId graph, NodeId n) {
  const Node& node = program_.node(n);
  if (node.delegate.index >= delegates_.size()) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "a call of a delegate that no stock runtime has");
  }
  const DelegateRegion& region = delegates_[node.delegate.index];
  if (region.device != MemoryBlock::kHost) return EmitDeviceDelegate(graph, n);
  if (!OperandsToHost(graph, n)) return false;
  PteDelegateCall call;
  call.delegate_index = static_cast<int32_t>(draft_.plan.delegates.size());
  // Inputs, then outputs.
  const auto args = program_.args(n);
  for (uint32_t i = 0; i < args.size(); ++i) {
    if (region.Absorbs(i)) continue;
    if (!args[i].is_value()) {
      return Refuse(graph, n, Rule::kUnsupported,
                    "a literal that is passed to a delegate");
    }
    call.args.push_back(IndexOf(args[i].value()));
  }
  for (uint32_t i = 0; i < node.results.count; ++i) {
    const ValueId v = node.results[i];
    if (!program_.type(v).is_tensor()) {
      return Refuse(graph, n, Rule::kUnsupported,
                    "a delegate that gives a number");
    }
    // A result that takes an argument's place is that argument: the delegate
    // writes there, and nothing is copied.
    const auto write = std::find_if(
        region.compiled.writes.begin(), region.compiled.writes.end(),
        [&](const DeclaredWrite& w) { return w.output == i; });
    if (write != region.compiled.writes.end()) {
      SetIndex(v, IndexOf(args[write->input].value()));
    } else if (!NewResult(graph, n, v)) {
      return false;
    }
    call.args.push_back(IndexOf(v));
  }
  AddDelegateCall(n, std::move(call));
  return true;
}

void PlanEmitter::AddDelegateCall(NodeId n, PteDelegateCall call) {
  const uint32_t index = program_.node(n).delegate.index;
  PteDelegate delegate;
  delegate.backend = delegates_[index].runtime_name;
  // Which payload: PlanEmitter's caller puts them into the file, in order.
  delegate.payload.place = PtePayloadPlace::kInline;
  delegate.payload.index = index;
  for (const PteBackendOption& option : options_.backend_options) {
    if (RuntimeNameOf(option.backend) != delegate.backend) continue;
    const auto value = std::make_shared<const std::string>(option.value);
    PteCompileSpec spec;
    spec.key = option.key;
    spec.value.bytes = AsBytes(*value);
    spec.value.owner = value;
    delegate.specs.push_back(std::move(spec));
  }
  draft_.plan.delegates.push_back(std::move(delegate));
  draft_.instructions().push_back({std::move(call)});
}

}  // namespace tenon::executorch
