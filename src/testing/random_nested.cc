// Recipes: nodes that hold or call other graphs.
#include <algorithm>
#include <string>

#include "testing/scene.h"

namespace tenon::testing {
namespace {

constexpr int kMaxDepth = 2;

bool CanNest(const Type& t, const Scene& s) {
  return t.dtype == DType::kFloat32 && s.IsRowMajor(t);
}

// Up to three values, each with the types that a nested graph may have.
std::vector<ValueId> PickOperands(Scene& s) {
  std::vector<ValueId> operands;
  const int64_t count = s.choices.Between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    const auto x = s.Pick([&](const Type& t) { return CanNest(t, s); });
    if (x &&
        std::find(operands.begin(), operands.end(), *x) == operands.end()) {
      operands.push_back(*x);
    }
  }
  return operands;
}

// Parameters carry requires_grad, and what a graph gets handed doesn't.
TypeId Inner(Scene& s, ValueId v) { return s.Like(s.type(v), s.type(v).dtype); }

// A branch: a few nodes over its inputs, then one result per wanted type, each
// freshly computed, because a branch's results must not alias its inputs.
GraphId Branch(Scene& outer, std::string_view name,
               std::span<const ValueId> operands) {
  Program& program = outer.program();
  const GraphId graph = program.AddGraph(name);
  Scene s(&program, graph, &outer.choices);
  s.depth = outer.depth + 1;
  std::vector<ValueId> inputs;
  for (const ValueId v : operands) {
    inputs.push_back(program.AddInput(graph, Inner(outer, v), StringId()));
  }
  s.tensors = inputs;
  ExtendScene(s, outer.choices.Below(4));
  const TypeId wanted = program.value(inputs[0]).type;
  const ValueId last = s.PickLike(wanted).value_or(inputs[0]);
  const ValueId result =
      s.emit.Emit("aten.mul.Tensor", {last, Operand(0.5)}, wanted);
  const Operand outputs[] = {result};
  s.emit.Return(outputs);
  return graph;
}

bool Cond(Scene& s) {
  if (s.depth >= kMaxDepth) return false;
  const auto x = s.Pick([&](const Type& t) { return CanNest(t, s); });
  if (!x) return false;
  std::vector<ValueId> operands = PickOperands(s);
  if (operands.empty()) return false;
  const TypeId scalar = s.RowMajor(DType::kFloat32, {});
  const TypeId truth = s.RowMajor(DType::kBool, {});
  const ValueId sum = s.emit.Emit("aten.sum.default", {*x}, scalar);
  const ValueId predicate =
      s.emit.Emit("aten.gt.Scalar", {sum, Operand(0)}, truth);
  const std::string number = std::to_string(s.program().num_graphs());
  const GraphId yes = Branch(s, "true_graph_" + number, operands);
  const GraphId no = Branch(s, "false_graph_" + number, operands);
  const TypeId result = Inner(s, operands[0]);
  const NodeId node =
      s.emit.Emit("higher_order.cond",
                  {predicate, Operand(Arg::OfGraph(yes)),
                   Operand(Arg::OfGraph(no)), Operand::Tensors(operands)},
                  {}, {result});
  // A tuple of one.
  s.program().mutable_node(node).single_return = SingleReturn::kFalse;
  s.tensors.push_back(s.emit.result(node));
  return true;
}

// A child with all that J-3 lists: an input passed through, a value returned
// twice, results in any order.
GraphId MakeChild(Scene& s, std::span<const ValueId> operands) {
  Program& program = s.program();
  const std::string number = std::to_string(program.num_graphs());
  const GraphId graph = program.AddGraph("child_" + number);
  Scene inner(&program, graph, &s.choices);
  inner.depth = s.depth + 1;
  inner.children = s.children;
  std::vector<Parameter> parameters;
  for (const ValueId v : operands) {
    const StringId name =
        s.context().Intern("p" + std::to_string(parameters.size()));
    parameters.push_back({name, ArgId()});
    inner.tensors.push_back(program.AddInput(graph, Inner(s, v), name));
  }
  program.mutable_graph(graph).parameters = std::move(parameters);
  ExtendScene(inner, 1 + s.choices.Below(6));
  std::vector<Operand> outputs;
  const int64_t count = s.choices.Between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    outputs.emplace_back(s.choices.PickFrom(inner.tensors));
  }
  if (s.choices.OneIn(3)) outputs.push_back(outputs[0]);
  inner.emit.Return(outputs);
  return graph;
}

bool CallChild(Scene& s) {
  if (s.children == nullptr || s.depth >= kMaxDepth) return false;
  std::vector<ValueId> operands;
  GraphId child;
  // One in three calls is a further call of a child that exists already.
  if (!s.children->empty() && s.choices.OneIn(3)) {
    child = s.choices.PickFrom(*s.children);
    for (const ValueId input : s.program().graph(child).inputs) {
      const auto x = s.PickLike(s.program().value(input).type);
      if (!x) return false;
      operands.push_back(*x);
    }
  } else {
    operands = PickOperands(s);
    if (operands.empty()) return false;
    child = MakeChild(s, operands);
    s.children->push_back(child);
  }
  std::vector<TypeId> results;
  for (const Arg& output : s.program().outputs(child)) {
    results.push_back(s.program().value(output.value()).type);
  }
  const NodeId node = s.emit.EmitCall(child, operands, results);
  for (uint32_t i = 0; i < results.size(); ++i) {
    s.tensors.push_back(s.emit.result(node, i));
  }
  return true;
}

constexpr Recipe kRecipes[] = {
    {"cond", 1, Cond},
    {"call", 4, CallChild},
};

}  // namespace

std::span<const Recipe> NestedGraphRecipes() { return kRecipes; }

}  // namespace tenon::testing
