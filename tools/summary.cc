#include "summary.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "analysis/digest.h"
#include "export/call_text.h"
#include "export/expression_text.h"
#include "ir/leaf_names.h"
#include "ops/schema.h"
#include "support/checked.h"
#include "text/text.h"

namespace tenon::tools {
namespace {

void SummariseInputs(const Program& program, Summary* out) {
  std::vector<std::string> paths, names;
  if (program.in_spec) {
    paths = CallLeafPaths(*program.in_spec);
    names = CallLeafNames(*program.in_spec, program.forward_arg_names);
  }
  size_t next_user = 0;
  const Graph& root = program.root();
  for (size_t i = 0; i < root.inputs.size(); ++i) {
    const Value& v = program.value(root.inputs[i]);
    const InputSpec spec = i < program.signature.inputs.size()
                               ? program.signature.inputs[i]
                               : InputSpec();
    InputSummary input;
    input.kind = Name(spec.kind);
    input.type = PrintType(program, v.type);
    input.is_used = v.num_uses > 0;
    if (spec.state.valid()) {
      input.path = program.view(program.state.get(spec.state).fqn);
    } else if (spec.kind == InputKind::kUserInput) {
      input.path = next_user < paths.size() ? paths[next_user]
                                            : std::to_string(next_user);
      if (next_user < names.size()) input.name = names[next_user];
      ++next_user;
    }
    out->inputs.push_back(std::move(input));
  }
}

void SummariseOutputs(const Program& program, Summary* out) {
  const std::vector<std::string> paths = UserOutputPaths(program);
  std::vector<std::string> names;
  if (program.out_spec) names = ReturnLeafNames(*program.out_spec);
  size_t next_user = 0;
  const std::span<const Arg> outputs = program.outputs(Program::kRoot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec spec = i < program.signature.outputs.size()
                                ? program.signature.outputs[i]
                                : OutputSpec();
    OutputSummary output;
    output.kind = Name(spec.kind);
    output.value =
        outputs[i].is_value()
            ? PrintType(program, program.value(outputs[i].value()).type)
            : ExpressionText(program, outputs[i], 0);
    if (spec.state.valid()) {
      output.path = program.view(program.state.get(spec.state).fqn);
    } else if (spec.input != OutputSpec::kNoInput) {
      output.path = spec.input < out->inputs.size()
                        ? out->inputs[spec.input].path
                        : std::to_string(spec.input);
    } else if (next_user < paths.size()) {
      if (next_user < names.size()) output.name = names[next_user];
      output.path = paths[next_user++];
    }
    out->outputs.push_back(std::move(output));
  }
}

void SummariseSymbols(const Program& program, Summary* out) {
  for (const SymbolRange& range : program.ranges) {
    out->symbols.push_back({range.expr.valid()
                                ? program.context().exprs.PrintInfix(range.expr)
                                : range.key,
                            range.min ? std::to_string(*range.min) : "-oo",
                            range.max ? std::to_string(*range.max) : "oo"});
  }
}

uint64_t NumElements(const Type& type) {
  int64_t count = 1;
  for (const SymInt& size : type.sizes) {
    count = CheckedMul(count, size.value).value_or(INT64_MAX);
  }
  return count < 0 ? 0 : static_cast<uint64_t>(count);
}

void SummariseState(const Program& program, Summary* out) {
  std::map<StateKind, StateSummary> by_kind;
  for (const StateEntry& entry : program.state.entries) {
    StateSummary& s = by_kind[entry.kind];
    ++s.count;
    if (!entry.type.valid()) continue;
    const Type& type = program.type(entry.type);
    if (!type.is_tensor()) continue;
    const uint64_t elements = NumElements(type);
    s.elements += elements;
    s.bytes += elements * SizeBytes(type.dtype);
  }
  for (auto& [kind, s] : by_kind) {
    s.kind = Name(kind);
    out->state.push_back(std::move(s));
  }
  out->num_storages = program.state.storages.size();
  for (const StorageRecord& storage : program.state.storages) {
    out->storage_bytes += storage.bytes.size();
    out->is_weightless |= storage.is_weightless;
  }
}

using Counted = std::vector<std::pair<std::string, uint64_t>>;

template <typename Map>
Counted MostFrequentFirst(const Map& counts) {
  Counted out(counts.begin(), counts.end());
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return out;
}

void SummariseGraphs(const Program& program, Summary* out) {
  std::unordered_map<std::string_view, uint64_t> counts;
  out->delegates.resize(program.delegates.size());
  std::vector<size_t> nodes_of(program.num_graphs());
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (program.graph(GraphId(g)).is_erased) continue;
    ++out->num_graphs;
    out->num_values += program.graph(GraphId(g)).inputs.size();
    for (const NodeId n : program.nodes(GraphId(g))) {
      const Node& node = program.node(n);
      out->num_values += node.results.count;
      switch (node.kind) {
        case NodeKind::kOp:
          ++counts[program.op_name(n)];
          break;
        case NodeKind::kChildCall:
          ++counts["call of a child"];
          break;
        case NodeKind::kDelegateCall:
          ++counts["call of a delegate"];
          if (node.delegate.valid()) {
            ++out->delegates[node.delegate.index].num_calls;
          }
          break;
        case NodeKind::kGetState:
          ++counts["reference to state"];
          break;
        case NodeKind::kOutput:
          continue;
      }
      ++nodes_of[g];
      ++out->num_nodes;
    }
  }
  out->operators = MostFrequentFirst(counts);
  for (size_t i = 0; i < program.delegates.size(); ++i) {
    const Delegate& d = program.delegates[i];
    DelegateSummary& s = out->delegates[i];
    s.name = program.view(d.name);
    s.backend = program.view(d.backend);
    s.payload_bytes = d.payload.size();
    s.num_inputs = d.inputs.size();
    s.num_outputs = d.outputs.size();
    s.has_source = d.source.valid();
    if (s.has_source) s.num_source_nodes = nodes_of[d.source.index];
  }
}

std::string DeviceText(const Program& program, const Device& device) {
  std::string out(program.view(device.type));
  if (device.index >= 0) out += ":" + std::to_string(device.index);
  return out;
}

void SummariseTensors(const Program& program, Summary* out) {
  std::map<std::string, uint64_t> dtypes, devices;
  const auto count = [&](ValueId v) {
    const TypeId id = program.value(v).type;
    if (!id.valid() || !program.type(id).is_tensor()) return;
    ++dtypes[std::string(Name(program.type(id).dtype))];
    ++devices[DeviceText(program, program.type(id).device)];
  };
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (program.graph(GraphId(g)).is_erased) continue;
    for (const ValueId v : program.graph(GraphId(g)).inputs) count(v);
    for (const NodeId n : program.nodes(GraphId(g))) {
      const ValueRange results = program.node(n).results;
      for (uint32_t i = 0; i < results.size(); ++i) count(results[i]);
    }
  }
  out->dtypes = MostFrequentFirst(dtypes);
  out->devices = MostFrequentFirst(devices);
}

// Whether PyTorch has it without another library: an operator of its table, a
// higher-order one, or a function of scalars.
bool IsPyTorchs(std::string_view op) {
  static constexpr std::string_view kPrefixes[] = {
      "aten.",  "prims.",    "higher_order.", "_operator.",   "math.",
      "torch.", "builtins.", "call of ",      "reference to "};
  return FindSchema(op) != nullptr ||
         std::any_of(
             std::begin(kPrefixes), std::end(kPrefixes),
             [op](std::string_view prefix) { return op.starts_with(prefix); });
}

void SummariseSpecialOperators(Summary* out) {
  constexpr std::string_view kHigherOrder = "higher_order.";
  for (const auto& [op, count] : out->operators) {
    if (op.starts_with(kHigherOrder)) {
      out->control_flow.emplace_back(op.substr(kHigherOrder.size()), count);
    }
    if (!IsPyTorchs(op)) out->custom_operators.push_back(op);
  }
  std::sort(out->custom_operators.begin(), out->custom_operators.end());
}

}  // namespace

Summary Summarise(const Program& program) {
  Summary out;
  out.call = CallText(program);
  out.returns = ReturnText(program);
  SummariseInputs(program, &out);
  SummariseOutputs(program, &out);
  SummariseSymbols(program, &out);
  SummariseState(program, &out);
  SummariseGraphs(program, &out);
  SummariseTensors(program, &out);
  SummariseSpecialOperators(&out);
  out.digest = WiringDigest(program);
  return out;
}

}  // namespace tenon::tools
