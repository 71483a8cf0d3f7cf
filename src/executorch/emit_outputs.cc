// What a method returns, and what it leaves in its state.
#include <string>
#include <vector>

#include "executorch/in_place.h"
#include "executorch/plan_emitter.h"

namespace tenon::executorch {
namespace {

constexpr int32_t kNoValue = -1;

}  // namespace

std::string PlanEmitter::MakerOf(ValueId v) const {
  const NodeId n = program_.value(v).def;
  if (!n.valid()) return "an input";
  const Node& node = program_.node(n);
  if (node.kind != NodeKind::kDelegateCall) {
    return std::string(program_.op_name(n));
  }
  return "region_" + std::to_string(node.delegate.index) + " (" +
         delegates_[node.delegate.index].runtime_name + ")";
}

bool PlanEmitter::WriteStateBack() {
  const GraphId root = Program::kRoot;
  const NodeId output = program_.root().output;
  const auto args = program_.outputs(root);
  // What is returned is read before state is copied back: nothing that is
  // returned shows old state (CopyOldState).
  for (size_t k = 0; k < args.size(); ++k) {
    const OutputSpec& spec = program_.signature.outputs[k];
    if (!IsMutation(spec)) continue;
    ValueId target;
    for (size_t i = 0; i < program_.signature.inputs.size(); ++i) {
      const bool is_it = spec.state.valid()
                             ? program_.signature.inputs[i].state == spec.state
                             : spec.input == i;
      if (is_it) target = program_.root().inputs[i];
    }
    if (!target.valid() || !args[k].is_value()) {
      return Refuse(root, output, Rule::kUnsupported,
                    "a mutation of something that is no tensor");
    }
    StoreMutation(spec, args[k].value(), target);
  }
  return true;
}

void PlanEmitter::StoreMutation(const OutputSpec& spec, ValueId from,
                                ValueId target) {
  if (from == target) return;
  const std::string name(spec.state.valid()
                             ? program_.view(program_.state.get(spec.state).fqn)
                             : program_.view(program_.value(target).name));
  // A buffer on the host may have a copy on a device, too.
  const bool stays = resident_on_[target.index] != MemoryBlock::kHost;
  const int32_t to = stays ? device_index_[target.index] : IndexOf(target);
  const int32_t made = stays ? device_index_[from.index] : IndexOf(from);
  const uint64_t bytes = BytesOf(draft_.tensor(to)).value_or(0);
  if (stays) device_state_.push_back({name, bytes, draft_.block(to).device});
  if (made == to) {
    ++num_in_place_;
    return;
  }
  copies_.push_back({name, bytes, MakerOf(from)});
  if (made == kNoValue) return CopyBack(from, target);
  draft_.CallKernel("aten::copy_", {to, made, draft_.AddBool(false), to});
}

void PlanEmitter::LeaveOutputsToCaller() {
  std::vector<uint32_t> num_tensors(draft_.blocks.size());
  for (const uint32_t block : draft_.block_of) {
    if (block != PlanDraft::kNoBlock) ++num_tensors[block];
  }
  std::vector<bool> is_input(draft_.plan.values.size());
  for (const int32_t v : draft_.plan.inputs) {
    is_input[static_cast<size_t>(v)] = true;
  }
  for (size_t k = 0; k < draft_.plan.outputs.size(); ++k) {
    const int32_t v = draft_.plan.outputs[k];
    const uint32_t at = draft_.block_of[static_cast<size_t>(v)];
    if (at == PlanDraft::kNoBlock) continue;
    MemoryBlock& block = draft_.blocks[at];
    if (block.is_foreign && !is_input[static_cast<size_t>(v)]) continue;
    if (num_tensors[at] > 1 || block.is_state ||
        is_input[static_cast<size_t>(v)]) {
      notes_.push_back("output " + std::to_string(k) +
                       " shares its memory with another tensor and stays "
                       "where that is");
      continue;
    }
    block.is_foreign = true;
  }
}

bool PlanEmitter::EmitOutputs() {
  if (!WriteStateBack()) return false;
  const GraphId root = Program::kRoot;
  const NodeId output = program_.root().output;
  const auto args = program_.outputs(root);
  for (size_t k = 0; k < args.size(); ++k) {
    const OutputSpec& spec = program_.signature.outputs[k];
    if (IsMutation(spec)) continue;
    if (spec.kind != OutputKind::kUserOutput &&
        spec.kind != OutputKind::kLossOutput) {
      return Refuse(root, output, Rule::kUnsupported,
                    "an output of kind '" + std::string(Name(spec.kind)) +
                        "', which ExecuTorch doesn't have");
    }
    if (args[k].is_value() && !ToHost(args[k].value(), PlaceOf(root, output))) {
      return false;
    }
    SchemaArg any;
    any.type = SchemaType::kScalar;
    const auto index = args[k].is_value()
                           ? std::optional(IndexOf(args[k].value()))
                           : EmitScalarArg(any, args[k]);
    if (!index || *index == kNoValue) {
      return Refuse(root, output, Rule::kUnsupported,
                    "output " + std::to_string(k) +
                        " is of a kind that ExecuTorch doesn't have");
    }
    draft_.plan.outputs.push_back(*index);
  }
  if (!options_.plans_outputs) LeaveOutputsToCaller();
  return true;
}

}  // namespace tenon::executorch
