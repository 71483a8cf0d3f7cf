// Control flow, laid into the one chain of instructions by jumps.
//
//   cond                           while
//      JumpFalse pred -> E           carried := initial
//      true branch                 H: condition
//      JumpFalse false -> X          JumpFalse condition -> X
//   E: false branch                  body; carried := what it gives
//   X:                               JumpFalse false -> H
//                                  X:
//
// Both branches write their results where the caller reads them. What a loop
// carries lies in one place from its begin to its end.
#include <string>
#include <variant>

#include "executorch/plan_emitter.h"

namespace tenon::executorch {

int32_t PlanEmitter::AlwaysFalse() {
  if (always_false_ < 0) always_false_ = draft_.AddBool(false);
  return always_false_;
}

bool PlanEmitter::StoreTo(GraphId graph, const Arg& source, int32_t target) {
  const NodeId output = program_.graph(graph).output;
  const auto& content = draft_.plan.values[static_cast<size_t>(target)].content;
  if (std::holds_alternative<PteTensor>(content)) {
    if (!source.is_value() || IndexOf(source.value()) < 0) {
      return Refuse(graph, output, Rule::kUnsupported,
                    "a branch gives a literal in the place of a tensor");
    }
    const int32_t from = IndexOf(source.value());
    if (from == target) return true;
    const int32_t format = draft_.Add(PteNull{});
    draft_.CallKernel("aten::clone.out", {from, format, target, target});
    return true;
  }
  SchemaArg number;
  number.type = SchemaType::kScalar;
  if (std::holds_alternative<PteDouble>(content)) {
    number.type = SchemaType::kFloat;
  }
  const auto from = EmitScalarArg(number, source);
  if (!from || *from < 0) {
    return Refuse(graph, output, Rule::kUnsupported,
                  "a branch gives something that is no tensor and no number");
  }
  if (*from != target) draft_.Move(*from, target);
  return true;
}

// Results that a node of the body makes for the caller alone are made in their
// place; others are copied there.
bool PlanEmitter::EmitBody(GraphId body, const std::vector<int32_t>& targets) {
  const auto outputs = program_.outputs(body);
  if (outputs.size() != targets.size()) {
    return Refuse(body, program_.graph(body).output, Rule::kUnsupported,
                  "a graph gives another number of results than its caller "
                  "takes");
  }
  std::vector<ValueId> placed;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId v = outputs[i].value();
    if (!v.valid() || !program_.type(v).is_tensor()) continue;
    const NodeId def = program_.value(v).def;
    if (!def.valid() || target_of_[v.index] >= 0) continue;
    if (program_.context().op(program_.node(def).op).is_higher_order) continue;
    target_of_[v.index] = targets[i];
    placed.push_back(v);
  }
  bool holds = EmitGraph(body);
  for (size_t i = 0; holds && i < outputs.size(); ++i) {
    holds = StoreTo(body, outputs[i], targets[i]);
  }
  // The graph may be called again, for another caller.
  for (const ValueId v : placed) target_of_[v.index] = -1;
  return holds;
}

bool PlanEmitter::BindOperands(GraphId graph, NodeId n, GraphId body,
                               const std::vector<ArgId>& operands) {
  const auto& inputs = program_.graph(body).inputs;
  if (inputs.size() != operands.size()) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "a graph takes " + std::to_string(inputs.size()) +
                      " operands and gets " + std::to_string(operands.size()));
  }
  SchemaArg number;
  number.type = SchemaType::kScalar;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto index = EmitScalarArg(number, program_.arg(operands[i]));
    if (!index || *index < 0) {
      return Refuse(
          graph, n, Rule::kUnsupported,
          "operand " + std::to_string(i) + " is no tensor and no number");
    }
    SetIndex(inputs[i], *index);
  }
  return true;
}

bool PlanEmitter::EmitCond(GraphId graph, NodeId n) {
  const Node node = program_.node(n);
  if (node.args.count != 4 ||
      program_.arg(node.args[1]).kind != ArgKind::kGraph ||
      program_.arg(node.args[2]).kind != ArgKind::kGraph ||
      program_.arg(node.args[3]).kind != ArgKind::kList) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "a conditional of another form");
  }
  SchemaArg flag;
  flag.type = SchemaType::kBool;
  const auto condition = EmitScalarArg(flag, program_.arg(node.args[0]));
  if (!condition || *condition < 0) {
    return Refuse(graph, n, Rule::kPte21, "the condition is no truth value");
  }
  std::vector<int32_t> targets;
  for (uint32_t i = 0; i < node.results.count; ++i) {
    const ValueId v = node.results[i];
    if (program_.type(v).is_tensor()) {
      if (!NewResult(graph, n, v)) return false;
    } else {
      SetIndex(v, NewScalar(program_.type(v)));
    }
    targets.push_back(IndexOf(v));
  }
  std::vector<ArgId> operands;
  const ArgRange list = program_.arg(node.args[3]).list;
  for (uint32_t i = 0; i < list.count; ++i) operands.push_back(list[i]);
  const auto branch = [&](uint32_t arg) {
    const GraphId body = program_.arg(node.args[arg]).graph;
    return BindOperands(graph, n, body, operands) && EmitBody(body, targets);
  };
  const uint32_t to_false = draft_.JumpIfFalse(*condition);
  if (!branch(1)) return false;
  const uint32_t to_end = draft_.JumpIfFalse(AlwaysFalse());
  draft_.JumpHere(to_false);
  if (!branch(2)) return false;
  draft_.JumpHere(to_end);
  return true;
}

// Memory that holds from one turn of a loop to the next.
std::optional<int32_t> PlanEmitter::NewPlace(GraphId graph, NodeId n,
                                             ValueId v) {
  const Type& type = program_.type(v);
  if (!type.is_tensor()) return NewScalar(type);
  auto tensor = TensorOf(type, PlaceOf(graph, n));
  const auto bytes = tensor ? BytesOf(*tensor) : std::nullopt;
  if (!bytes) return std::nullopt;
  MemoryBlock block;
  block.size_bytes = *bytes;
  block.outlives_turn = true;
  return draft_.AddTensor(std::move(*tensor), draft_.AddBlock(block));
}

// What the next turn starts with. All of it was computed before, so one may
// take the place of another.
void PlanEmitter::CarryOver(const std::vector<int32_t>& from,
                            const std::vector<int32_t>& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (draft_.block_of[static_cast<size_t>(to[i])] == PlanDraft::kNoBlock) {
      draft_.Move(from[i], to[i]);
      continue;
    }
    const int32_t format = draft_.Add(PteNull{});
    draft_.CallKernel("aten::clone.out", {from[i], format, to[i], to[i]});
  }
}

bool PlanEmitter::EmitWhile(GraphId graph, NodeId n) {
  const Node node = program_.node(n);
  if (node.args.count < 3 ||
      program_.arg(node.args[0]).kind != ArgKind::kGraph ||
      program_.arg(node.args[1]).kind != ArgKind::kGraph ||
      program_.arg(node.args[2]).kind != ArgKind::kList) {
    return Refuse(graph, n, Rule::kUnsupported, "a loop of another form");
  }
  const GraphId condition = program_.arg(node.args[0]).graph;
  const GraphId body = program_.arg(node.args[1]).graph;
  const ArgRange carried = program_.arg(node.args[2]).list;
  if (carried.count != node.results.count) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "a loop that gives something else than it carries");
  }
  // Where the values of this turn lie, and those of the next.
  std::vector<int32_t> places, next;
  std::vector<ArgId> operands;
  for (uint32_t i = 0; i < carried.count; ++i) {
    const auto a = NewPlace(graph, n, node.results[i]);
    const auto b = NewPlace(graph, n, node.results[i]);
    if (!a || !b) {
      return Refuse(graph, n, Rule::kPte11,
                    "what the loop carries can't lie "
                    "in memory");
    }
    places.push_back(*a);
    next.push_back(*b);
    SetIndex(node.results[i], *a);
    if (!StoreTo(graph, program_.arg(carried[i]), *a)) return false;
  }
  const auto bind = [&](GraphId g) {
    const auto& inputs = program_.graph(g).inputs;
    size_t at = 0;
    for (; at < inputs.size() && at < places.size(); ++at) {
      SetIndex(inputs[at], places[at]);
    }
    std::vector<ArgId> rest;
    if (node.args.count > 3 &&
        program_.arg(node.args[3]).kind == ArgKind::kList) {
      const ArgRange list = program_.arg(node.args[3]).list;
      for (uint32_t i = 0; i < list.count; ++i) rest.push_back(list[i]);
    }
    if (inputs.size() != at + rest.size()) return false;
    SchemaArg number;
    number.type = SchemaType::kScalar;
    for (const ArgId id : rest) {
      const auto index = EmitScalarArg(number, program_.arg(id));
      if (!index || *index < 0) return false;
      SetIndex(inputs[at++], *index);
    }
    return true;
  };
  if (!bind(condition) || !bind(body)) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "a loop whose graphs take something else than it passes");
  }
  const uint32_t head = draft_.next_instruction();
  if (!EmitGraph(condition)) return false;
  const auto tests = program_.outputs(condition);
  SchemaArg flag;
  flag.type = SchemaType::kBool;
  const auto test =
      tests.size() == 1 ? EmitScalarArg(flag, tests[0]) : std::nullopt;
  if (!test || *test < 0) {
    return Refuse(graph, n, Rule::kPte21, "the condition is no truth value");
  }
  const uint32_t to_end = draft_.JumpIfFalse(*test);
  if (!EmitBody(body, next)) return false;
  CarryOver(next, places);
  const uint32_t back = draft_.JumpIfFalse(AlwaysFalse());
  draft_.JumpTo(back, head);
  draft_.loops.push_back({head, back});
  draft_.JumpHere(to_end);
  return true;
}

}  // namespace tenon::executorch
