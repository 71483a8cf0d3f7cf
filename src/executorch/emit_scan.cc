// map and scan: a graph over the slices of tensors, one after the other.
//
//      i := 0; carried := initial
//   H: JumpFalse i < n -> X
//      slices := operands[i]; body
//      result[i] := what it gives; carried := what it gives
//      i := i + 1; JumpFalse false -> H
//   X:
#include <string>
#include <variant>

#include "executorch/plan_emitter.h"

namespace tenon::executorch {

bool PlanEmitter::EmitScan(GraphId graph, NodeId n) {
  const Node node = program_.node(n);
  const bool is_scan = program_.op_name(n) == "higher_order.scan";
  const uint32_t first = is_scan ? 2 : 1;
  const auto list = [&](uint32_t i) -> ArgRange {
    if (i >= node.args.count) return {};
    const Arg& arg = program_.arg(node.args[i]);
    return arg.kind == ArgKind::kList ? arg.list : ArgRange();
  };
  if (node.args.count < first + 1 ||
      program_.arg(node.args[0]).kind != ArgKind::kGraph) {
    return Refuse(graph, n, Rule::kUnsupported, "a loop of another form");
  }
  const GraphId body = program_.arg(node.args[0]).graph;
  const ArgRange initial = is_scan ? list(1) : ArgRange();
  const ArgRange sliced = list(first), rest = list(first + 1);
  const auto& inputs = program_.graph(body).inputs;
  const size_t num_outputs = program_.outputs(body).size();
  if (sliced.count == 0 ||
      inputs.size() != size_t{initial.count} + sliced.count + rest.count ||
      num_outputs != node.results.count || num_outputs < initial.count) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "a loop whose graph takes or gives something else than it "
                  "passes");
  }
  const Type& whole = program_.type(program_.arg(sliced[0]).value());
  if (!whole.is_tensor() || whole.rank() == 0) {
    return Refuse(graph, n, Rule::kUnsupported,
                  "a loop over something that has no slices");
  }
  // Results of no turns would have no sizes.
  const auto least = bounds_.Of(whole.sizes[0]).min;
  if (!least || *least < 1) {
    return Refuse(graph, n, Rule::kPte32,
                  "the loop may have no turns: state a least size of 1");
  }

  const int32_t zero = draft_.AddInt(0), one = draft_.AddInt(1);
  const int32_t turn = draft_.AddInt(0);
  const int32_t dim = draft_.AddInt(0);
  const int32_t count = draft_.AddInt(0);
  const int32_t source = IndexOf(program_.arg(sliced[0]).value());
  draft_.CallKernel("aten::sym_size.int", {source, dim, count});
  draft_.Move(zero, turn);
  // Where the values of this turn lie, and those of the next.
  std::vector<int32_t> places, targets;
  for (uint32_t i = 0; i < initial.count; ++i) {
    const auto place = NewPlace(graph, n, node.results[i]);
    const auto next = NewPlace(graph, n, node.results[i]);
    if (!place || !next || !StoreTo(graph, program_.arg(initial[i]), *place)) {
      return false;
    }
    places.push_back(*place);
    targets.push_back(*next);
    SetIndex(node.results[i], *place);
    SetIndex(inputs[i], *place);
  }
  SchemaArg number;
  number.type = SchemaType::kScalar;
  for (uint32_t i = 0; i < rest.count; ++i) {
    const auto index = EmitScalarArg(number, program_.arg(rest[i]));
    if (!index || *index < 0) return false;
    SetIndex(inputs[size_t{initial.count} + sliced.count + i], *index);
  }
  // The kernel that puts a slice into its place lets the result grow.
  std::vector<int32_t> stacks;
  for (size_t i = initial.count; i < num_outputs; ++i) {
    const ValueId v = node.results[static_cast<uint32_t>(i)];
    const auto stack = NewPlace(graph, n, v);
    const auto part = NewPlace(graph, n, program_.outputs(body)[i].value());
    if (!stack || !part) return false;
    std::get<PteTensor>(draft_.plan.values[static_cast<size_t>(*stack)].content)
        .shape = PteShape::kBounded;
    stacks.push_back(*stack);
    targets.push_back(*part);
    SetIndex(v, *stack);
  }
  std::vector<int32_t> slices;
  for (uint32_t i = 0; i < sliced.count; ++i) {
    const ValueId input = inputs[initial.count + i];
    const auto place = NewPlace(graph, n, input);
    if (!place) return false;
    slices.push_back(*place);
    SetIndex(input, *place);
  }

  const uint32_t head = draft_.next_instruction();
  const int32_t goes_on =
      CallPrimitive("executorch_prim::lt.Scalar", {turn, count}, PteBool{});
  const uint32_t to_end = draft_.JumpIfFalse(goes_on);
  for (uint32_t i = 0; i < sliced.count; ++i) {
    draft_.CallKernel("aten::select_copy.int_out",
                      {IndexOf(program_.arg(sliced[i]).value()), dim, turn,
                       slices[i], slices[i]});
  }
  if (!EmitBody(body, targets)) return false;
  for (size_t i = 0; i < stacks.size(); ++i) {
    draft_.CallKernel("executorch_prim::et_copy_index.tensor",
                      {stacks[i], targets[initial.count + i], turn});
  }
  targets.resize(initial.count);
  CarryOver(targets, places);
  draft_.CallKernel("executorch_prim::add.Scalar", {turn, one, turn});
  const uint32_t back = draft_.JumpIfFalse(AlwaysFalse());
  draft_.JumpTo(back, head);
  draft_.loops.push_back({head, back});
  draft_.JumpHere(to_end);
  return true;
}

}  // namespace tenon::executorch
