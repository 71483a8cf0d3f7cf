#include "link/replaceable.h"

#include <algorithm>
#include <unordered_map>

namespace tenon {
namespace {

// The root input that a mutation of state replaces; invalid for other outputs.
// A caller's tensor may share its memory with another argument, so mutations of
// user inputs aren't among them.
ValueId TargetOf(const Program& program, const OutputSpec& output) {
  if (output.kind != OutputKind::kBufferMutation &&
      output.kind != OutputKind::kParameterMutation) {
    return ValueId();
  }
  const auto& specs = program.signature.inputs;
  const size_t count = std::min(specs.size(), program.root().inputs.size());
  for (size_t i = 0; i < count; ++i) {
    if (specs[i].state == output.state) return program.root().inputs[i];
  }
  return ValueId();
}

// The graph that a call of a region runs; invalid for other nodes.
GraphId GraphOf(const Program& program, NodeId n) {
  const Node& node = program.node(n);
  switch (node.kind) {
    case NodeKind::kChildCall:
      return node.child;
    case NodeKind::kDelegateCall:
      return program.delegates[node.delegate.index].source;
    default:
      return GraphId();
  }
}

// What a value was before its region was cut.
ValueId Original(const Program& program, ValueId v) {
  const Value& value = program.value(v);
  if (value.is_input()) return v;
  const GraphId graph = GraphOf(program, value.def);
  if (!graph.valid()) return v;
  const auto returned = program.outputs(graph);
  return value.index < returned.size() ? returned[value.index].value() : v;
}

}  // namespace

ReplaceableInputs::ReplaceableInputs(const Program& program)
    : classes_(program, Program::kRoot) {
  const auto& specs = program.signature.outputs;
  const auto outputs = program.outputs(Program::kRoot);
  std::unordered_map<uint32_t, size_t> by_class;
  for (uint32_t k = 0; k < specs.size() && k < outputs.size(); ++k) {
    if (!outputs[k].is_value()) continue;
    Replacement r;
    r.output = k;
    r.input = TargetOf(program, specs[k]);
    r.result = outputs[k].value();
    if (!r.input.valid() || !IsAlone(program, r)) continue;
    by_class.emplace(classes_.class_of(r.input), replacements_.size());
    replacements_.push_back(std::move(r));
  }
  if (replacements_.empty()) return;
  for (const NodeId n : program.nodes(Program::kRoot)) {
    program.ForEachOperand(n, [&](ValueId v) {
      const auto at = by_class.find(classes_.class_of(v));
      if (at == by_class.end()) return;
      std::vector<NodeId>& readers = replacements_[at->second].readers;
      if (readers.empty() || readers.back() != n) readers.push_back(n);
    });
  }
}

// Whether neither storage is another input's or leaves the program.
bool ReplaceableInputs::IsAlone(const Program& program,
                                const Replacement& r) const {
  const uint32_t old = classes_.class_of(r.input);
  const uint32_t changed = classes_.class_of(r.result);
  if (old == AliasClasses::kNoClass || changed == AliasClasses::kNoClass ||
      old == changed) {
    return false;
  }
  for (const ValueId v : program.root().inputs) {
    const uint32_t c = classes_.class_of(v);
    if (c == changed || (v != r.input && c == old)) return false;
  }
  const auto outputs = program.outputs(Program::kRoot);
  for (uint32_t k = 0; k < outputs.size(); ++k) {
    if (k == r.output || !outputs[k].is_value()) continue;
    const uint32_t c = classes_.class_of(outputs[k].value());
    if (c == old || c == changed) return false;
  }
  return true;
}

// Whether all other readers have run when the call does.
bool ReplaceableInputs::IsLastReader(const Program& program, NodeId call,
                                     const Replacement& r) const {
  std::vector<bool> has_run(program.num_nodes());
  const auto run = [&](NodeId n) {
    has_run[n.index] = true;
    const GraphId graph = GraphOf(program, n);
    if (!graph.valid()) return;
    for (const NodeId inner : program.nodes(graph)) {
      has_run[inner.index] = true;
    }
  };
  for (const NodeId n : program.nodes(Program::kRoot)) {
    run(n);
    if (n == call) break;
  }
  return std::all_of(r.readers.begin(), r.readers.end(),
                     [&](NodeId n) { return has_run[n.index]; });
}

std::vector<DeclaredWrite> ReplaceableInputs::Of(const Program& program,
                                                 NodeId call) const {
  std::vector<DeclaredWrite> out;
  if (replacements_.empty()) return out;
  const auto args = program.args(call);
  const ValueRange results = program.node(call).results;
  const auto returned = program.outputs(program.node(call).child);
  const auto outputs = program.outputs(Program::kRoot);
  for (const Replacement& r : replacements_) {
    const uint32_t old = classes_.class_of(r.input);
    const uint32_t changed = classes_.class_of(r.result);
    DeclaredWrite write;
    uint32_t num_inputs = 0, num_outputs = 0, num_shared = 0;
    for (uint32_t i = 0; i < args.size(); ++i) {
      if (!args[i].is_value()) continue;
      if (args[i].value() == r.input) {
        write.input = i;
        ++num_inputs;
      } else if (classes_.class_of(Original(program, args[i].value())) == old) {
        ++num_shared;
      }
    }
    for (uint32_t j = 0; j < returned.size() && j < results.count; ++j) {
      if (!returned[j].is_value()) continue;
      if (results[j] == outputs[r.output].value()) {
        write.output = j;
        ++num_outputs;
        continue;
      }
      const uint32_t c = classes_.class_of(returned[j].value());
      if (c == old || c == changed) ++num_shared;
    }
    if (num_inputs == 1 && num_outputs == 1 && num_shared == 0 &&
        IsLastReader(program, call, r)) {
      out.push_back(write);
    }
  }
  return out;
}

}  // namespace tenon
