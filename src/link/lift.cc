#include "link/lift.h"

#include <algorithm>
#include <string>

#include "link/lift_nested.h"

namespace tenon {
namespace {

InputKind KindOf(StateKind kind) {
  switch (kind) {
    case StateKind::kParameter:
      return InputKind::kParameter;
    case StateKind::kPersistentBuffer:
    case StateKind::kNonPersistentBuffer:
      return InputKind::kBuffer;
    case StateKind::kConstant:
      return InputKind::kConstantTensor;
    case StateKind::kObject:
      return InputKind::kObject;
  }
  return InputKind::kConstantTensor;
}

// Position of a kind's group in the signature (L-1).
int Group(InputKind kind) {
  switch (kind) {
    case InputKind::kParameter:
      return 0;
    case InputKind::kBuffer:
      return 1;
    case InputKind::kConstantTensor:
      return 2;
    case InputKind::kObject:
      return 3;
    case InputKind::kToken:
      return 4;
    case InputKind::kUserInput:
      return 5;
  }
  return 5;
}

class Lifter {
 public:
  Lifter(Program* program, Diagnostics& diags)
      : program_(*program), diags_(diags) {}

  Status Run() {
    TENON_TRY(Check());
    TENON_TRY(LiftNestedState(&program_, diags_));
    input_of_state_.resize(program_.state.entries.size());
    const Graph& root = program_.root();
    for (size_t i = 0; i < root.inputs.size(); ++i) {
      const StateId state = program_.signature.inputs[i].state;
      if (state.valid()) input_of_state_[state.index] = root.inputs[i];
    }
    bool added = false;
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      const Node node = program_.node(n);
      if (node.kind != NodeKind::kGetState) continue;
      ValueId& input = input_of_state_[node.state.index];
      if (!input.valid()) {
        added = true;
        input = AddStateInput(node.state, program_.value(node.results[0]).name);
      }
      program_.ReplaceAllUses(node.results[0], input);
      program_.Erase(Program::kRoot, n);
    }
    if (added) SortInputs();
    return {};
  }

 private:
  Status Check() {
    bool ok = true;
    for (uint32_t i = 0; i < program_.num_graphs(); ++i) {
      const GraphId g(i);
      if (program_.graph(g).is_erased) continue;
      for (const NodeId n : program_.nodes(g)) {
        if (program_.node(n).kind != NodeKind::kGetState) continue;
        const StateId state = program_.node(n).state;
        if (state.index >= program_.state.entries.size() ||
            program_.node(n).results.count != 1) {
          ok = false;
          diags_.Error(Rule::kL2, Place::Node(program_.Describe(g, n)))
              << "a reference to state that the program doesn't have";
        }
      }
    }
    if (program_.signature.inputs.size() != program_.root().inputs.size()) {
      ok = false;
      diags_.Error(Rule::kL2)
          << "the signature has " << program_.signature.inputs.size()
          << " inputs, the graph " << program_.root().inputs.size();
    }
    if (!ok) return Failure{};
    return {};
  }

  ValueId AddStateInput(StateId state, StringId label) {
    const StateEntry& entry = program_.state.get(state);
    InputSpec spec;
    spec.kind = KindOf(entry.kind);
    spec.state = state;
    program_.signature.inputs.push_back(spec);
    return program_.AddInput(Program::kRoot, entry.type, label);
  }

  void SortInputs() {
    Graph& root = program_.mutable_graph(Program::kRoot);
    std::vector<uint32_t> order(root.inputs.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](uint32_t i) {
      const InputSpec& spec = program_.signature.inputs[i];
      const uint32_t inside = spec.state.valid() ? spec.state.index : i;
      return std::pair(Group(spec.kind), inside);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    std::vector<ValueId> inputs;
    std::vector<InputSpec> specs;
    std::vector<uint32_t> new_index(order.size());
    for (const uint32_t i : order) {
      new_index[i] = static_cast<uint32_t>(inputs.size());
      program_.mutable_value(root.inputs[i]).index = new_index[i];
      inputs.push_back(root.inputs[i]);
      specs.push_back(program_.signature.inputs[i]);
    }
    root.inputs = std::move(inputs);
    program_.signature.inputs = std::move(specs);
    for (OutputSpec& output : program_.signature.outputs) {
      if (output.input != OutputSpec::kNoInput) {
        output.input = new_index[output.input];
      }
    }
  }

  Program& program_;
  Diagnostics& diags_;
  std::vector<ValueId> input_of_state_;
};

}  // namespace

Status Lift(Program* program, Diagnostics& diags) {
  return Lifter(program, diags).Run();
}

void Unlift(Program* program) {
  Graph& root = program->mutable_graph(Program::kRoot);
  std::vector<ValueId> inputs;
  std::vector<InputSpec> specs;
  std::vector<uint32_t> new_index(root.inputs.size(), OutputSpec::kNoInput);
  const NodeId anchor = root.first;
  for (size_t i = 0; i < root.inputs.size(); ++i) {
    const ValueId v = program->root().inputs[i];
    const InputSpec spec = program->signature.inputs[i];
    if (!spec.state.valid()) {
      new_index[i] = static_cast<uint32_t>(inputs.size());
      program->mutable_value(v).index = new_index[i];
      inputs.push_back(v);
      specs.push_back(spec);
      continue;
    }
    const NodeId n = program->NewNode(NodeKind::kGetState);
    program->mutable_node(n).state = spec.state;
    const ValueId result = program->NewResults(n, 1)[0];
    program->mutable_value(result).type = program->value(v).type;
    program->mutable_value(result).name = program->value(v).name;
    program->InsertBefore(Program::kRoot, anchor, n);
    program->ReplaceAllUses(v, result);
  }
  program->mutable_graph(Program::kRoot).inputs = std::move(inputs);
  program->signature.inputs = std::move(specs);
  for (OutputSpec& output : program->signature.outputs) {
    if (output.input != OutputSpec::kNoInput) {
      output.input = new_index[output.input];
    }
  }
}

}  // namespace tenon
