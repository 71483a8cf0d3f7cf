#include "testing/reducer.h"

#include <utility>
#include <vector>

namespace tenon::testing {
namespace {

// A value of the same type that stands before `n`; invalid when there is none.
ValueId StandIn(const Program& program, GraphId graph, NodeId n, ValueId v) {
  const TypeId type = program.value(v).type;
  ValueId found;
  program.ForEachOperand(n, [&](ValueId operand) {
    if (!found.valid() && program.value(operand).type == type) found = operand;
  });
  for (const ValueId input : program.graph(graph).inputs) {
    if (!found.valid() && program.value(input).type == type) found = input;
  }
  return found;
}

bool Drop(Program* program, GraphId graph, NodeId n) {
  const ValueRange results = program->node(n).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    if (program->value(results[i]).num_uses == 0) continue;
    const ValueId other = StandIn(*program, graph, n, results[i]);
    if (!other.valid()) return false;
    program->ReplaceAllUses(results[i], other);
  }
  program->Erase(graph, n);
  return true;
}

void EraseUnreachable(Program* program) {
  std::vector<bool> is_reached(program->num_graphs(), false);
  std::vector<GraphId> open = {Program::kRoot};
  for (const Delegate& d : program->delegates) {
    if (d.source.valid()) open.push_back(d.source);
  }
  while (!open.empty()) {
    const GraphId g = open.back();
    open.pop_back();
    if (is_reached[g.index]) continue;
    is_reached[g.index] = true;
    for (const NodeId n : program->nodes(g)) {
      program->ForEachNestedGraph(n, [&](GraphId h) { open.push_back(h); });
    }
  }
  for (uint32_t g = 0; g < is_reached.size(); ++g) {
    if (!is_reached[g] && !program->graph(GraphId(g)).is_erased) {
      program->EraseGraph(GraphId(g));
    }
  }
}

std::vector<std::pair<GraphId, NodeId>> AllNodes(const Program& program) {
  std::vector<std::pair<GraphId, NodeId>> nodes;
  for (uint32_t i = 0; i < program.num_graphs(); ++i) {
    const GraphId g(i);
    if (program.graph(g).is_erased) continue;
    for (const NodeId n : program.nodes(g)) {
      if (n != program.graph(g).output) nodes.emplace_back(g, n);
    }
  }
  return nodes;
}

// Last nodes first, so that what they read is free by the time it is tried.
// Returns whether anything was dropped.
bool DropSome(Program* program,
              const std::function<bool(const Program&)>& fails) {
  bool is_smaller = false;
  const auto nodes = AllNodes(*program);
  for (size_t i = nodes.size(); i-- > 0;) {
    const auto [graph, n] = nodes[i];
    if (program->graph(graph).is_erased || !program->node(n).in_graph) continue;
    Program candidate = program->Clone();
    if (!Drop(&candidate, graph, n)) continue;
    EraseUnreachable(&candidate);
    if (!fails(candidate)) continue;
    *program = std::move(candidate);
    is_smaller = true;
  }
  return is_smaller;
}

}  // namespace

Program Reduce(const Program& program,
               const std::function<bool(const Program&)>& fails) {
  Program smallest = program.Clone();
  while (DropSome(&smallest, fails)) {
  }
  return smallest;
}

}  // namespace tenon::testing
