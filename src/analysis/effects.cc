#include "analysis/effects.h"

#include <algorithm>
#include <string_view>

#include "ir/call_binding.h"

namespace tenon {
namespace {

// Deeper nesting than this isn't looked into: it may do anything.
constexpr int kMaxDepth = 64;

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool IsAssertion(std::string_view op) {
  return StartsWith(op, "aten._assert_") ||
         StartsWith(op, "aten.sym_constrain_range") ||
         StartsWith(op, "aten._functional_assert_") ||
         StartsWith(op, "aten._functional_sym_constrain_range");
}

// Functions of scalars, against torch's mode switches and functorch's hooks.
bool IsScalarFunction(std::string_view op) {
  return StartsWith(op, "_operator.") || StartsWith(op, "math.") ||
         StartsWith(op, "torch.sym_") || StartsWith(op, "torch._sym_") ||
         StartsWith(op, "builtins.");
}

// Their arguments are an operator, whose effects became results.
bool IsFunctionalised(std::string_view op) {
  return op == "higher_order.auto_functionalized" ||
         op == "higher_order.auto_functionalized_v2" ||
         op == "higher_order.out_dtype";
}

// Where a higher-order operator passes its operands: the graphs at the front
// get the values of the arguments after them, lists unrolled.
struct Convention {
  std::string_view op;
  bool operands_match_inputs;  // input i is operand i, for each graph
};
constexpr Convention kConventions[] = {
    {"higher_order.cond", true},
    {"higher_order.while_loop", true},
    {"higher_order.map_impl", true},
    {"higher_order.map", true},
    {"higher_order.invoke_subgraph", true},
    {"higher_order.wrap_with_set_grad_enabled", true},
    {"higher_order.wrap_with_autocast", true},
    // The combining graph sees slices of its operands.
    {"higher_order.scan", false},
    {"higher_order.associative_scan", false},
};

void AddWrite(ValueId v, NodeEffects* out) {
  if (std::find(out->writes.begin(), out->writes.end(), v) ==
      out->writes.end()) {
    out->writes.push_back(v);
  }
}

void AddWrites(const Program& program, const Arg& a, NodeEffects* out) {
  if (a.is_value()) AddWrite(a.v.value, out);
  if (!a.has_items()) return;
  for (const Arg& item : program.args(a.list)) AddWrites(program, item, out);
}

std::optional<bool> Flag(const BoundArgs& bound, std::string_view parameter) {
  const int i = bound.schema->FindArg(parameter);
  if (i < 0 || bound[static_cast<size_t>(i)] == nullptr) return std::nullopt;
  const Arg& a = *bound[static_cast<size_t>(i)];
  if (a.kind != ArgKind::kBool) return std::nullopt;
  return a.i != 0;
}

bool IsZero(const BoundArgs& bound, std::string_view parameter) {
  const int i = bound.schema->FindArg(parameter);
  if (i < 0) return false;
  const Arg* a = bound[static_cast<size_t>(i)];
  if (a == nullptr) {
    const auto& value =
        bound.schema->args[static_cast<size_t>(i)].default_value.value;
    const auto* f = std::get_if<double>(&value);
    return f != nullptr && *f == 0;
  }
  return (a->kind == ArgKind::kFloat && a->f == 0) ||
         (a->kind == ArgKind::kInt && a->i == 0);
}

// Dropout outside training, and attention without dropout, draw nothing.
bool DrawsNothing(const BoundArgs& bound) {
  if (Flag(bound, "train") == false || Flag(bound, "training") == false) {
    return true;
  }
  return bound.schema->FindArg("dropout_p") >= 0 && IsZero(bound, "dropout_p");
}

bool MayWriteStatistics(std::string_view op) {
  return op.ends_with("batch_norm.default") ||
         op == "aten.instance_norm.default";
}

// Batch norm's running statistics, which its schema doesn't mark as written.
bool WritesRunningStatistics(const BoundArgs& bound) {
  const std::string_view op = bound.schema->name;
  if (op == "aten.batch_norm.default" ||
      op == "aten.native_batch_norm.default" ||
      op == "aten.cudnn_batch_norm.default" ||
      op == "aten.miopen_batch_norm.default") {
    return Flag(bound, "training") != false;
  }
  return op == "aten.instance_norm.default" &&
         Flag(bound, "use_input_stats") != false;
}

}  // namespace

EffectAnalysis::EffectAnalysis(const Program& program)
    : program_(program), binder_(program), summaries_(program.num_graphs()) {}

bool EffectAnalysis::IsPure(OpId op) {
  if (op.index >= is_pure_.size()) is_pure_.resize(op.index + 1, -1);
  int8_t& known = is_pure_[op.index];
  if (known < 0) {
    const OpInfo& info = program_.context().op(op);
    const std::string_view name = program_.view(info.name);
    known = info.schema == nullptr
                ? !info.is_higher_order && !IsAssertion(name) &&
                      IsScalarFunction(name)
                : !IsAssertion(name) && !info.schema->is_mutating() &&
                      !info.schema->nondeterministic &&
                      !MayWriteStatistics(name) &&
                      !info.schema->returns.empty();
  }
  return known > 0;
}

NodeEffects EffectAnalysis::Compute(NodeId n, int depth) {
  NodeEffects out;
  const Node& node = program_.node(n);
  switch (node.kind) {
    case NodeKind::kOp:
      AddOperator(n, &out);
      if (program_.context().op(node.op).is_higher_order) {
        AddHigherOrder(n, depth, &out);
      }
      break;
    case NodeKind::kChildCall: {
      std::vector<ValueId> operands;
      const CallBinding binding(program_, n, node.child);
      for (const ArgId at : binding.args()) {
        operands.push_back(at.valid() ? program_.arg(at).value() : ValueId());
      }
      AddGraph(node.child, operands, depth, &out);
      break;
    }
    case NodeKind::kDelegateCall: {
      const Delegate& delegate = program_.delegates[node.delegate.index];
      const auto args = program_.args(n);
      for (const DeclaredWrite& w : delegate.writes) {
        if (w.input < args.size()) AddWrites(program_, args[w.input], &out);
      }
      if (delegate.source.valid()) {
        std::vector<ValueId> operands;
        for (const Arg& a : args) operands.push_back(a.value());
        AddGraph(delegate.source, operands, depth, &out);
      }
      break;
    }
    case NodeKind::kGetState:
    case NodeKind::kOutput:
      break;
  }
  return out;
}

void EffectAnalysis::AddOperator(NodeId n, NodeEffects* out) {
  if (IsPure(program_.node(n).op)) return;
  const OpInfo& info = program_.context().op(program_.node(n).op);
  const std::string_view name = program_.view(info.name);
  if (info.is_higher_order) return;
  if (IsAssertion(name)) {
    out->is_assertion = true;
    return;
  }
  if (info.schema == nullptr) {
    out->is_opaque = !IsScalarFunction(name);
    return;
  }
  const OpSchema& schema = *info.schema;
  const bool is_batch_norm = MayWriteStatistics(name);
  if (!schema.is_mutating() && !schema.nondeterministic && !is_batch_norm) {
    // Something without results is done for what it does.
    out->is_opaque = schema.returns.empty();
    return;
  }
  BoundArgs bound;
  if (!binder_.Bind(n, &bound)) {
    out->is_opaque = true;
    return;
  }
  for (size_t i = 0; i < schema.args.size(); ++i) {
    if (schema.args[i].is_written && bound[i] != nullptr) {
      AddWrites(program_, *bound[i], out);
    }
  }
  if (is_batch_norm && WritesRunningStatistics(bound)) {
    for (const std::string_view parameter : {"running_mean", "running_var"}) {
      const int i = schema.FindArg(parameter);
      if (i >= 0 && bound[static_cast<size_t>(i)] != nullptr) {
        AddWrites(program_, *bound[static_cast<size_t>(i)], out);
      }
    }
  }
  out->is_random = schema.nondeterministic && !DrawsNothing(bound);
}

void EffectAnalysis::AddHigherOrder(NodeId n, int depth, NodeEffects* out) {
  const std::string_view name = program_.op_name(n);
  if (IsFunctionalised(name)) return;
  const auto* const convention =
      std::find_if(std::begin(kConventions), std::end(kConventions),
                   [&](const Convention& c) { return c.op == name; });
  if (convention == std::end(kConventions)) {
    out->is_opaque = true;
    return;
  }
  std::vector<GraphId> graphs;
  std::vector<ValueId> operands;
  for (const Arg& a : program_.args(n)) {
    if (a.kind == ArgKind::kGraph) {
      graphs.push_back(a.graph);
      operands.clear();  // what stands before a graph is no operand of it
    } else if (a.is_value()) {
      operands.push_back(a.v.value);
    } else if (a.kind == ArgKind::kList) {
      for (const Arg& item : program_.args(a.list)) {
        operands.push_back(item.value());
      }
    }
  }
  for (const GraphId g : graphs) {
    if (convention->operands_match_inputs &&
        operands.size() == program_.graph(g).inputs.size()) {
      AddGraph(g, operands, depth, out);
      continue;
    }
    const Summary& summary = SummaryOf(g, depth + 1);
    if (!summary.written_inputs.empty()) {
      for (const ValueId v : operands) {
        if (v.valid()) AddWrite(v, out);
      }
    }
    out->is_random |= summary.is_random;
    out->is_assertion |= summary.is_assertion;
    out->is_opaque |= summary.is_opaque;
  }
}

void EffectAnalysis::AddGraph(GraphId graph,
                              const std::vector<ValueId>& operands, int depth,
                              NodeEffects* out) {
  const Summary& summary = SummaryOf(graph, depth + 1);
  for (const uint32_t i : summary.written_inputs) {
    if (i < operands.size() && operands[i].valid()) AddWrite(operands[i], out);
  }
  out->is_random |= summary.is_random;
  out->is_assertion |= summary.is_assertion;
  out->is_opaque |= summary.is_opaque;
}

const EffectAnalysis::Summary& EffectAnalysis::SummaryOf(GraphId graph,
                                                         int depth) {
  static const Summary kAnything = [] {
    Summary s;
    s.is_opaque = true;
    return s;
  }();
  if (graph.index >= summaries_.size() || depth > kMaxDepth ||
      program_.graph(graph).is_erased ||
      summaries_[graph.index].stage == Summary::Stage::kOpen) {
    return kAnything;
  }
  Summary& summary = summaries_[graph.index];
  if (summary.stage == Summary::Stage::kDone) return summary;
  summary.stage = Summary::Stage::kOpen;
  std::vector<ValueId> written;
  for (const NodeId n : program_.nodes(graph)) {
    const NodeEffects effects = Compute(n, depth);
    written.insert(written.end(), effects.writes.begin(), effects.writes.end());
    summary.is_random |= effects.is_random;
    summary.is_assertion |= effects.is_assertion;
    summary.is_opaque |= effects.is_opaque;
  }
  if (!written.empty()) {
    const AliasClasses aliases(program_, graph);
    const std::vector<ValueId>& inputs = program_.graph(graph).inputs;
    std::vector<bool> is_written;
    for (const ValueId v : written) {
      const uint32_t c = aliases.class_of(v);
      if (c == AliasClasses::kNoClass) continue;
      if (c >= is_written.size()) is_written.resize(c + 1, false);
      is_written[c] = true;
    }
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      const uint32_t c = aliases.class_of(inputs[i]);
      if (c < is_written.size() && is_written[c]) {
        summary.written_inputs.push_back(i);
      }
    }
    // State that isn't lifted yet has no operand that could stand for it.
    for (const NodeId n : program_.nodes(graph)) {
      if (program_.node(n).kind != NodeKind::kGetState) continue;
      const ValueRange results = program_.node(n).results;
      for (uint32_t i = 0; i < results.count; ++i) {
        const uint32_t c = aliases.class_of(results[i]);
        if (c < is_written.size() && is_written[c]) summary.is_opaque = true;
      }
    }
  }
  summary.stage = Summary::Stage::kDone;
  return summary;
}

NodeEffects ComputeEffects(const Program& program, NodeId node) {
  EffectAnalysis analysis(program);
  return analysis.Of(node);
}

}  // namespace tenon
