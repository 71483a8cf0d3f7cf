#include "analysis/origins.h"

#include <algorithm>

namespace tenon {

Origins::Origins(const Program& program, GraphId graph) : program_(program) {
  uint32_t last = 0;
  bool has_results = false;
  for (const NodeId n : program.nodes(graph)) {
    const ValueRange results = program.node(n).results;
    if (results.count == 0) continue;
    const uint32_t begin = results[0].index;
    first_ = has_results ? std::min(first_, begin) : begin;
    last = std::max(last, begin + results.count);
    has_results = true;
  }
  origins_.resize(last - first_);
  for (const NodeId n : program.nodes(graph)) Visit(n);
}

void Origins::Visit(NodeId n) {
  const Node& node = program_.node(n);
  if (node.kind == NodeKind::kDelegateCall) {
    const auto args = program_.args(n);
    for (const DeclaredWrite& w :
         program_.delegates[node.delegate.index].writes) {
      if (w.input < args.size() && args[w.input].is_value() &&
          w.output < node.results.count) {
        origins_[node.results[w.output].index - first_] =
            of(args[w.input].v.value);
      }
    }
    return;
  }
  if (node.kind != NodeKind::kOp) return;
  const OpSchema* schema = program_.schema(n);
  if (schema == nullptr || schema->returns.empty()) return;
  // A list return has all the results; otherwise they go by position.
  for (uint32_t i = 0; i < node.results.count; ++i) {
    const size_t r = schema->returns.size() == 1 ? 0 : i;
    if (r < schema->returns.size()) {
      Link(n, schema->returns[r], node.results[i]);
    }
  }
}

void Origins::Link(NodeId n, const SchemaReturn& returned, ValueId result) {
  if (returned.alias_set.empty()) return;
  for (const SchemaArg& arg : program_.schema(n)->args) {
    if (arg.alias_set != returned.alias_set) continue;
    const Arg* given = program_.FindArg(n, arg.name);
    if (given == nullptr || !given->is_value()) continue;
    const Origin base = of(given->v.value);
    origins_[result.index - first_] = {base.value,
                                       base.is_whole && returned.is_written};
  }
}

}  // namespace tenon
