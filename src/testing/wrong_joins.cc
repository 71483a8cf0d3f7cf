#include "testing/wrong_joins.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenon::testing {
namespace {

std::vector<std::pair<GraphId, NodeId>> ChildCalls(const Program& program) {
  std::vector<std::pair<GraphId, NodeId>> calls;
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (program.graph(GraphId(g)).is_erased) continue;
    for (const NodeId n : program.nodes(GraphId(g))) {
      if (program.node(n).kind == NodeKind::kChildCall) {
        calls.emplace_back(GraphId(g), n);
      }
    }
  }
  return calls;
}

// The newest value of each label that is defined before `call`.
std::unordered_map<StringId, ValueId> ValuesBefore(const Program& program,
                                                   GraphId graph, NodeId call) {
  std::unordered_map<StringId, ValueId> values;
  for (const ValueId v : program.graph(graph).inputs) {
    values[program.value(v).name] = v;
  }
  for (const NodeId n : program.nodes(graph)) {
    if (n == call) break;
    const ValueRange results = program.node(n).results;
    for (uint32_t i = 0; i < results.count; ++i) {
      values[program.value(results[i]).name] = results[i];
    }
  }
  return values;
}

void BindCallByName(Program* program, GraphId parent, NodeId call) {
  const auto labelled = ValuesBefore(*program, parent, call);
  const std::vector<ValueId> inputs =
      program->graph(program->node(call).child).inputs;
  std::vector<ValueId> left;
  for (const Arg& arg : program->args(call)) left.push_back(arg.value());
  std::vector<ValueId> bound(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto at = labelled.find(program->value(inputs[i]).name);
    if (at == labelled.end()) continue;
    bound[i] = at->second;
    const auto taken = std::find(left.begin(), left.end(), at->second);
    if (taken != left.end()) left.erase(taken);
  }
  size_t next = 0;
  const ArgRange args = program->node(call).args;
  for (uint32_t i = 0; i < args.count && i < bound.size(); ++i) {
    if (!bound[i].valid() && next < left.size()) bound[i] = left[next++];
    if (bound[i].valid()) program->SetValueArg(args[i], call, bound[i]);
  }
}

// Keys and children in reverse, the leaves' order kept: leaf i is still the
// graph's user input i.
TreeSpec WithReversedKeys(const TreeSpec& spec) {
  TreeSpec out = spec;
  for (TreeSpec& child : out.children) child = WithReversedKeys(child);
  if (!spec.is_dict()) return out;
  std::vector<std::string> keys = spec.Keys();
  std::reverse(keys.begin(), keys.end());
  std::reverse(out.children.begin(), out.children.end());
  return TreeSpec::Dict(keys, std::move(out.children));
}

}  // namespace

void BindByName(Program* program) {
  for (const auto& [parent, call] : ChildCalls(*program)) {
    BindCallByName(program, parent, call);
  }
}

void BindKeywordsByInsertionOrder(Program* program) {
  for (const auto& [parent, call] : ChildCalls(*program)) {
    const ArgRange args = program->node(call).args;
    for (uint32_t i = 0; i < args.count; ++i) {
      program->SetArgLabel(args[i], StringId(), PassKind::kPositional);
    }
  }
}

void PruneOutputs(Program* program) {
  for (const auto& [parent, call] : ChildCalls(*program)) {
    const ValueRange results = program->node(call).results;
    for (uint32_t i = 1; i < results.count; ++i) {
      program->ReplaceAllUses(results[i], results[0]);
    }
  }
}

void LosePersistence(Program* program) {
  for (StateEntry& entry : program->state.entries) {
    if (entry.kind == StateKind::kPersistentBuffer) {
      entry.kind = StateKind::kNonPersistentBuffer;
    }
  }
}

void OrderKeywordsAsWritten(Program* program) {
  if (program->in_spec) program->in_spec = WithReversedKeys(*program->in_spec);
}

void RebuildSpecsFlat(Program* program) {
  const auto num_inputs = static_cast<size_t>(std::count_if(
      program->signature.inputs.begin(), program->signature.inputs.end(),
      [](const InputSpec& s) { return s.kind == InputKind::kUserInput; }));
  const auto num_outputs = static_cast<size_t>(std::count_if(
      program->signature.outputs.begin(), program->signature.outputs.end(),
      [](const OutputSpec& s) { return s.kind == OutputKind::kUserOutput; }));
  program->in_spec =
      TreeSpec::Tuple({TreeSpec::Tuple(std::vector<TreeSpec>(num_inputs)),
                       TreeSpec::Dict({}, {})});
  program->out_spec = TreeSpec::Tuple(std::vector<TreeSpec>(num_outputs));
  program->forward_arg_names.clear();
  program->has_forward_arg_names = false;
}

void ForgetInSpec(Program* program) {
  program->in_spec =
      TreeSpec::Tuple({TreeSpec::Tuple({}), TreeSpec::Dict({}, {})});
  program->forward_arg_names.clear();
  program->has_forward_arg_names = false;
}

}  // namespace tenon::testing
