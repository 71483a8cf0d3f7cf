#include "lower/inline_wrappers.h"

#include <string_view>
#include <vector>

#include "ir/higher_order.h"
#include "link/join.h"
#include "lower/live_graphs.h"

namespace tenon::lower {
namespace {

// higher_order.wrap_with_autocast(device, dtype, enabled, cache, graph, ..)
constexpr uint32_t kAutocastEnabled = 2;

bool IsWrapper(const Program& program, NodeId n) {
  const std::string_view op = program.op_name(n);
  if (op == "higher_order.wrap_with_autocast") {
    const auto args = program.args(n);
    return args.size() > kAutocastEnabled &&
           args[kAutocastEnabled].kind == ArgKind::kBool &&
           args[kAutocastEnabled].i == 0;
  }
  return op == "higher_order.wrap_with_set_grad_enabled" ||
         op == "higher_order.invoke_subgraph" ||
         op == "higher_order.tag_activation_checkpoint";
}

// Makes the node a call of the graph that it holds. False when it isn't built
// as its operator's convention says.
bool MakeCall(Program* program, NodeId n) {
  const auto* convention = FindHigherOrderConvention(program->op_name(n));
  if (convention == nullptr || convention->groups.size() != 1) return false;
  const ArgRange args = program->node(n).args;
  const uint32_t first = convention->groups[0].arg;
  if (args.count < first || convention->first_graph >= args.count) return false;
  const Arg graph = program->arg(args[convention->first_graph]);
  if (graph.kind != ArgKind::kGraph) return false;
  const size_t num_inputs = program->graph(graph.graph).inputs.size();
  if (num_inputs != args.count - first) return false;
  const ArgRange operands = program->NewArgs(args.count - first);
  for (uint32_t i = 0; i < operands.count; ++i) {
    program->CopyArg(args[first + i], operands[i], n);
    program->SetArgLabel(operands[i], StringId(), PassKind::kUnstated);
  }
  program->ReplaceArgs(n, operands);
  Node& node = program->mutable_node(n);
  node.kind = NodeKind::kChildCall;
  node.op = OpId();
  node.child = graph.graph;
  return true;
}

}  // namespace

Status InlineWrappers(Program* program, Diagnostics& diags) {
  bool has_calls = false;
  for (const GraphId g : LiveGraphs(*program)) {
    std::vector<NodeId> callers;
    program->ForEachCaller(g, [&](NodeId n) { callers.push_back(n); });
    for (const NodeId n : callers) {
      const NodeKind kind = program->node(n).kind;
      if (kind == NodeKind::kChildCall) has_calls = true;
      if (kind != NodeKind::kOp || !IsWrapper(*program, n)) continue;
      has_calls = MakeCall(program, n) || has_calls;
    }
  }
  return has_calls ? JoinAll(program, diags) : Status();
}

}  // namespace tenon::lower
