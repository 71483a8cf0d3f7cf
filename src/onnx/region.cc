#include "onnx/region.h"

#include <algorithm>
#include <utility>

#include "ir/clone.h"
#include "weights/state_tensor.h"

namespace tenon::onnx {
namespace {

// Undefined for whatever isn't state that stays as it is.
Tensor FixedTensor(const Program& program, ValueId v) {
  const Value& value = program.value(v);
  if (!value.is_input()) return Tensor();
  const StateId state = program.signature.inputs[value.index].state;
  if (!state.valid()) return Tensor();
  for (const OutputSpec& o : program.signature.outputs) {
    const bool changes_it = o.kind == OutputKind::kBufferMutation ||
                            o.kind == OutputKind::kParameterMutation;
    if (changes_it && o.state == state) return Tensor();
  }
  const StateEntry& entry = program.state.get(state);
  return IsPlainTensor(program, entry) ? StateTensor(program, entry) : Tensor();
}

}  // namespace

std::vector<NodeId> RegionCalls(const Program& cut) {
  std::vector<NodeId> calls;
  for (const NodeId n : cut.nodes(Program::kRoot)) {
    if (cut.node(n).kind == tenon::NodeKind::kChildCall) calls.push_back(n);
  }
  return calls;
}

Region ExtractRegion(const Program& cut, NodeId call) {
  Region region{ExtractGraph(cut, cut.node(call).child), {}};
  const auto args = cut.args(call);
  for (uint32_t i = 0; i < args.size(); ++i) {
    if (!args[i].is_value()) continue;
    Tensor tensor = FixedTensor(cut, args[i].value());
    if (tensor.defined()) region.known.push_back({i, std::move(tensor)});
  }
  return region;
}

}  // namespace tenon::onnx
