#include "testing/boundary_edits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tenon::testing {
namespace {

struct Call {
  GraphId parent;
  NodeId node;
};

bool PassesValuesByPosition(const Program& program, NodeId call) {
  const auto args = program.args(call);
  return std::all_of(args.begin(), args.end(), [](const Arg& arg) {
    return arg.is_value() && arg.pass != PassKind::kKeyword;
  });
}

// Children in the order of their ids, each with all its calls. Without those
// that are called in another way, or returned from in lists.
std::map<uint32_t, std::vector<Call>> Children(const Program& program) {
  std::map<uint32_t, std::vector<Call>> children;
  std::vector<bool> is_other(program.num_graphs(), false);
  for (const Delegate& d : program.delegates) {
    if (d.source.valid()) is_other[d.source.index] = true;
  }
  for (uint32_t i = 0; i < program.num_graphs(); ++i) {
    const GraphId g(i);
    if (program.graph(g).is_erased) continue;
    for (const NodeId n : program.nodes(g)) {
      program.ForEachArg(program.node(n).args, [&](const Arg& arg, ArgId) {
        if (arg.kind == ArgKind::kGraph) is_other[arg.graph.index] = true;
      });
      if (program.node(n).kind != NodeKind::kChildCall) continue;
      const GraphId child = program.node(n).child;
      children[child.index].push_back({g, n});
      if (!PassesValuesByPosition(program, n)) is_other[child.index] = true;
    }
    for (const Arg& output : program.outputs(g)) {
      if (output.has_items()) is_other[i] = true;
    }
  }
  std::erase_if(children, [&](const auto& c) { return is_other[c.first]; });
  return children;
}

std::vector<uint32_t> Shuffled(size_t count, Choices* choices) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t i = static_cast<uint32_t>(count); i > 1; --i) {
    std::swap(order[i - 1], order[choices->Below(i)]);
  }
  return order;
}

std::vector<ValueId> Operands(const Program& program, NodeId call) {
  std::vector<ValueId> values;
  for (const Arg& arg : program.args(call)) values.push_back(arg.value());
  return values;
}

// A call like `call` before it, with results of the given types.
NodeId InsertCall(Program* program, const Call& call,
                  const std::vector<TypeId>& types) {
  const Node old = program->node(call.node);
  const NodeId n = program->NewNode(NodeKind::kChildCall);
  Node& node = program->mutable_node(n);
  node.child = old.child;
  node.name = old.name;
  node.has_name = old.has_name;
  node.metadata = old.metadata;
  node.region = old.region;
  program->SetArgRange(n, program->CopyArgs(
                              old.args, n, [](ValueId v) { return v; },
                              [](GraphId g) { return g; }));
  const ValueRange results =
      program->NewResults(n, static_cast<uint32_t>(types.size()));
  for (uint32_t i = 0; i < results.count; ++i) {
    program->mutable_value(results[i]).type = types[i];
    program->mutable_value(results[i]).name = old.name;
  }
  program->InsertBefore(call.parent, call.node, n);
  return n;
}

// Each use of `v` becomes one of `others`.
void ShareOut(Program* program, ValueId v, const std::vector<ValueId>& others,
              Choices* choices) {
  program->ForEachUse(v, [&](UseId use) {
    const ValueId other = choices->PickFrom(others);
    if (other != v) program->ReplaceUse(use, other);
  });
}

// A child's values that can be returned though nobody asks for them.
std::vector<ValueId> Tensors(const Program& program, GraphId child) {
  std::vector<ValueId> values = program.graph(child).inputs;
  for (const NodeId n : program.nodes(child)) {
    const ValueRange results = program.node(n).results;
    for (uint32_t i = 0; i < results.count; ++i) values.push_back(results[i]);
  }
  std::erase_if(values,
                [&](ValueId v) { return !program.type(v).is_tensor(); });
  return values;
}

// What a child returns afterwards: an old output, or another value.
struct Output {
  static constexpr uint32_t kUnused = 0xFFFFFFFFu;
  uint32_t old = kUnused;
  ValueId value;
};

std::vector<Output> ChooseOutputs(const Program& program, GraphId child,
                                  Choices* choices) {
  std::vector<Output> outputs;
  const auto count = static_cast<uint32_t>(program.outputs(child).size());
  for (uint32_t i = 0; i < count; ++i) outputs.push_back({i, ValueId()});
  if (count > 0 && choices->OneIn(2)) {
    outputs.push_back({choices->Below(count), ValueId()});
  }
  const std::vector<ValueId> values = Tensors(program, child);
  if (!values.empty() && choices->OneIn(2)) {
    outputs.push_back({Output::kUnused, choices->PickFrom(values)});
  }
  std::vector<Output> shuffled;
  for (const uint32_t i : Shuffled(outputs.size(), choices)) {
    shuffled.push_back(outputs[i]);
  }
  return shuffled;
}

void SetChildOutputs(Program* program, GraphId child,
                     const std::vector<Output>& outputs) {
  const std::vector<Arg> old(program->outputs(child).begin(),
                             program->outputs(child).end());
  const NodeId user = program->graph(child).output;
  const ArgRange range =
      program->NewArgs(static_cast<uint32_t>(outputs.size()));
  for (uint32_t i = 0; i < range.count; ++i) {
    const Output& output = outputs[i];
    if (output.old == Output::kUnused) {
      program->SetValueArg(range[i], user, output.value);
    } else if (old[output.old].is_value()) {
      program->SetValueArg(range[i], user, old[output.old].value());
    } else {
      program->SetArg(range[i], old[output.old]);
    }
  }
  program->SetOutputs(child, range);
}

}  // namespace

void ShuffleInputs(Program* program, Choices* choices) {
  for (const auto& [index, calls] : Children(*program)) {
    Graph& graph = program->mutable_graph(GraphId(index));
    const std::vector<uint32_t> order = Shuffled(graph.inputs.size(), choices);
    const std::vector<ValueId> inputs = graph.inputs;
    const std::vector<Parameter> parameters = graph.parameters;
    for (uint32_t i = 0; i < order.size(); ++i) {
      graph.inputs[i] = inputs[order[i]];
      program->mutable_value(graph.inputs[i]).index = i;
      if (!parameters.empty()) graph.parameters[i] = parameters[order[i]];
    }
    for (const Call& call : calls) {
      const std::vector<ValueId> operands = Operands(*program, call.node);
      const ArgRange args = program->node(call.node).args;
      for (uint32_t i = 0; i < order.size(); ++i) {
        program->SetValueArg(args[i], call.node, operands[order[i]]);
      }
    }
  }
}

void ShuffleOutputs(Program* program, Choices* choices) {
  for (const auto& [index, calls] : Children(*program)) {
    const GraphId child(index);
    const std::vector<Output> outputs = ChooseOutputs(*program, child, choices);
    for (const Call& call : calls) {
      const ValueRange old = program->node(call.node).results;
      std::vector<TypeId> types;
      for (const Output& output : outputs) {
        types.push_back(output.old == Output::kUnused
                            ? program->value(output.value).type
                            : program->value(old[output.old]).type);
      }
      const NodeId n = InsertCall(program, call, types);
      const ValueRange results = program->node(n).results;
      for (uint32_t i = 0; i < old.count; ++i) {
        std::vector<ValueId> same;
        for (uint32_t k = 0; k < outputs.size(); ++k) {
          if (outputs[k].old == i) same.push_back(results[k]);
        }
        ShareOut(program, old[i], same, choices);
      }
      program->Erase(call.parent, call.node);
    }
    SetChildOutputs(program, child, outputs);
  }
}

void RepeatCalls(Program* program, Choices* choices,
                 const std::function<bool(NodeId)>& may_repeat) {
  for (const auto& [index, calls] : Children(*program)) {
    for (const Call& call : calls) {
      if (!may_repeat(call.node) || choices->OneIn(3)) continue;
      const ValueRange old = program->node(call.node).results;
      std::vector<TypeId> types;
      for (uint32_t i = 0; i < old.count; ++i) {
        types.push_back(program->value(old[i]).type);
      }
      const NodeId n = InsertCall(program, call, types);
      for (uint32_t i = 0; i < old.count; ++i) {
        ShareOut(program, old[i], {old[i], program->node(n).results[i]},
                 choices);
      }
    }
  }
}

void PassByKeyword(Program* program, Choices* choices) {
  for (const auto& [index, calls] : Children(*program)) {
    Graph& graph = program->mutable_graph(GraphId(index));
    const auto count = static_cast<uint32_t>(graph.inputs.size());
    graph.parameters.clear();
    for (uint32_t i = 0; i < count; ++i) {
      const StringId name = program->context().Intern("p" + std::to_string(i));
      graph.parameters.push_back({name, ArgId()});
      program->mutable_value(graph.inputs[count - 1 - i]).name = name;
    }
    for (const Call& call : calls) {
      const std::vector<ValueId> operands = Operands(*program, call.node);
      const ArgRange args = program->node(call.node).args;
      const uint32_t num_positional = choices->Below(count + 1);
      const std::vector<uint32_t> rest =
          Shuffled(count - num_positional, choices);
      for (uint32_t i = 0; i < rest.size(); ++i) {
        const uint32_t input = num_positional + rest[i];
        const ArgId at = args[num_positional + i];
        program->SetValueArg(at, call.node, operands[input]);
        program->SetArgLabel(at, graph.parameters[input].name,
                             PassKind::kKeyword);
      }
    }
  }
}

}  // namespace tenon::testing
