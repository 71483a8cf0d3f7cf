#include "link/declare_writes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/effects.h"
#include "analysis/origins.h"
#include "ir/clone.h"

namespace tenon {
namespace {

// Cheap, and true for every graph that writes anything.
bool MayWrite(const Program& program, GraphId graph) {
  for (const NodeId n : program.nodes(graph)) {
    const Node& node = program.node(n);
    if (node.kind == NodeKind::kChildCall ||
        node.kind == NodeKind::kDelegateCall) {
      return true;
    }
    if (node.kind != NodeKind::kOp) continue;
    const OpInfo& op = program.context().op(node.op);
    if (op.is_higher_order ||
        (op.schema != nullptr &&
         (op.schema->is_mutating() ||
          program.view(op.name).find("_norm.") != std::string_view::npos))) {
      return true;
    }
  }
  return false;
}

// What a graph does to its inputs: for each, the value that is the input after
// the last write; invalid when nothing writes it.
std::vector<ValueId> WrittenInputs(const Program& program, GraphId graph) {
  const auto& inputs = program.graph(graph).inputs;
  std::vector<ValueId> latest(inputs.size());
  if (!MayWrite(program, graph)) return latest;
  EffectAnalysis effects(program);
  const Origins origins(program, graph);
  for (const NodeId n : program.nodes(graph)) {
    for (const ValueId written : effects.Of(n).writes) {
      const ValueId base = origins.of(written).value;
      const Value& input = program.value(base);
      if (!input.is_input() || input.index >= inputs.size() ||
          inputs[input.index] != base) {
        continue;
      }
      // A write through a view leaves only the input itself.
      latest[input.index] = base;
      const ValueRange results = program.node(n).results;
      for (uint32_t r = 0; r < results.count; ++r) {
        const Origin origin = origins.of(results[r]);
        if (origin.value == base && origin.is_whole) {
          latest[input.index] = results[r];
        }
      }
    }
  }
  return latest;
}

// New arguments for `n`: those that it has, and `values` before or behind.
void InsertArgs(Program* program, NodeId n, const std::vector<ValueId>& values,
                bool in_front) {
  const ArgRange old = program->node(n).args;
  const auto count = static_cast<uint32_t>(values.size());
  const ArgRange args = program->NewArgs(old.count + count);
  const uint32_t at = in_front ? 0 : old.count;
  for (uint32_t i = 0; i < old.count; ++i) {
    program->CopyArg(old[i], args[in_front ? i + count : i], n);
  }
  for (uint32_t i = 0; i < count; ++i) {
    program->SetValueArg(args[at + i], n, values[i]);
  }
  program->ReplaceArgs(n, args);
}

NodeId AddCallResults(Program* program, GraphId graph, NodeId call,
                      const std::vector<TypeId>& added) {
  std::vector<TypeId> types;
  const ValueRange results = program->node(call).results;
  for (uint32_t r = 0; r < results.count; ++r) {
    types.push_back(program->value(results[r]).type);
  }
  types.insert(types.end(), added.begin(), added.end());
  return ReplaceCall(program, graph, call, types);
}

// The outputs of a delegate that are missing; their types.
std::vector<TypeId> DeclareWritesOf(Program* program, Delegate* d) {
  const std::vector<ValueId> latest = WrittenInputs(*program, d->source);
  std::vector<ValueId> added;
  std::vector<TypeId> types;
  for (uint32_t i = 0; i < latest.size(); ++i) {
    if (!latest[i].valid()) continue;
    const bool is_declared =
        std::any_of(d->writes.begin(), d->writes.end(),
                    [&](const DeclaredWrite& w) { return w.input == i; });
    if (is_declared) continue;
    const Origins origins(*program, d->source);
    const auto outputs = program->outputs(d->source);
    const ValueId input = program->graph(d->source).inputs[i];
    uint32_t output = 0;
    for (; output < outputs.size(); ++output) {
      const ValueId v = outputs[output].value();
      const bool is_taken = std::any_of(
          d->writes.begin(), d->writes.end(),
          [&](const DeclaredWrite& w) { return w.output == output; });
      if (v.valid() && !is_taken && origins.of(v).value == input &&
          origins.of(v).is_whole) {
        break;
      }
    }
    if (output == outputs.size()) {
      output += static_cast<uint32_t>(added.size());
      added.push_back(latest[i]);
      types.push_back(program->value(input).type);
    }
    d->writes.push_back({i, output, WriteKind::kUser});
  }
  if (!added.empty()) {
    InsertArgs(program, program->graph(d->source).output, added, false);
  }
  d->outputs.insert(d->outputs.end(), types.begin(), types.end());
  if (!d->output_names.empty()) {
    for (const ValueId v : added) {
      d->output_names.push_back(program->value(v).name);
    }
  }
  return types;
}

OutputKind MutationOf(const InputSpec& spec) {
  switch (spec.kind) {
    case InputKind::kBuffer:
      return OutputKind::kBufferMutation;
    case InputKind::kParameter:
      return OutputKind::kParameterMutation;
    case InputKind::kUserInput:
    case InputKind::kConstantTensor:
    case InputKind::kObject:
    case InputKind::kToken:
      break;
  }
  return OutputKind::kUserInputMutation;
}

OutputSpec MutationSpec(const InputSpec& input, uint32_t index) {
  OutputSpec spec;
  spec.kind = MutationOf(input);
  spec.state = input.state;
  if (!input.state.valid()) spec.input = index;
  return spec;
}

}  // namespace

void DeclareDelegateWrites(Program* program) {
  for (uint32_t i = 0; i < program->delegates.size(); ++i) {
    Delegate& d = program->delegates[i];
    if (!d.source.valid()) continue;
    const std::vector<TypeId> added = DeclareWritesOf(program, &d);
    if (added.empty()) continue;
    for (uint32_t g = 0; g < program->num_graphs(); ++g) {
      if (program->graph(GraphId(g)).is_erased) continue;
      for (const NodeId n : program->nodes(GraphId(g))) {
        if (program->node(n).kind == NodeKind::kDelegateCall &&
            program->node(n).delegate == DelegateId(i)) {
          AddCallResults(program, GraphId(g), n, added);
        }
      }
    }
  }
}

NodeId ReturnWrittenInputs(Program* program, GraphId parent, NodeId call) {
  const GraphId child = program->node(call).child;
  const std::vector<ValueId> latest = WrittenInputs(*program, child);
  std::vector<ValueId> added;
  std::vector<TypeId> types;
  std::optional<Origins> origins;
  for (uint32_t i = 0; i < latest.size(); ++i) {
    if (!latest[i].valid()) continue;
    if (!origins) origins.emplace(*program, child);
    const ValueId input = program->graph(child).inputs[i];
    const auto outputs = program->outputs(child);
    const bool is_returned =
        std::any_of(outputs.begin(), outputs.end(), [&](const Arg& output) {
          if (!output.is_value()) return false;
          const Origin origin = origins->of(output.value());
          return origin.value == input && origin.is_whole;
        });
    if (is_returned) continue;
    added.push_back(latest[i]);
    types.push_back(program->value(input).type);
  }
  if (added.empty()) return call;
  InsertArgs(program, program->graph(child).output, added, false);
  return AddCallResults(program, parent, call, types);
}

void DeclareMutations(Program* program) {
  const std::vector<ValueId> latest = WrittenInputs(*program, Program::kRoot);
  std::vector<InputMutation> mutations;
  for (uint32_t i = 0; i < latest.size(); ++i) {
    if (!latest[i].valid()) continue;
    const InputSpec& input = program->signature.inputs[i];
    if (input.kind == InputKind::kConstantTensor) continue;
    const OutputSpec spec = MutationSpec(input, i);
    const bool is_declared =
        std::any_of(program->signature.outputs.begin(),
                    program->signature.outputs.end(), [&](const OutputSpec& o) {
                      return o.kind == spec.kind && o.state == spec.state &&
                             o.input == spec.input;
                    });
    if (is_declared) continue;
    mutations.push_back({i, latest[i]});
  }
  DeclareInputMutations(program, mutations);
}

void DeclareInputMutations(Program* program,
                           const std::vector<InputMutation>& mutations) {
  if (mutations.empty()) return;
  std::vector<OutputSpec> specs;
  std::vector<ValueId> values;
  for (const InputMutation& m : mutations) {
    specs.push_back(MutationSpec(program->signature.inputs[m.input], m.input));
    values.push_back(m.value);
  }
  InsertArgs(program, program->root().output, values, true);
  auto& outputs = program->signature.outputs;
  outputs.insert(outputs.begin(), specs.begin(), specs.end());
}

}  // namespace tenon
