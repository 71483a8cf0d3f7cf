#include "executorch/state_chains.h"

#include <algorithm>
#include <optional>

#include "analysis/effects.h"
#include "link/outline.h"

namespace tenon::executorch {
namespace {

// The graph that a call runs; invalid for other nodes.
GraphId GraphOf(const Program& program, NodeId n) {
  const Node& node = program.node(n);
  if (node.kind == NodeKind::kChildCall) return node.child;
  if (node.kind == NodeKind::kDelegateCall) {
    return program.delegates[node.delegate.index].source;
  }
  return GraphId();
}

bool HaveSameType(const Type& a, const Type& b) {
  const auto is_same = [](const SymInt& x, const SymInt& y) {
    return x.is_literal() == y.is_literal() &&
           (x.is_literal() ? x.value == y.value : x.expr == y.expr);
  };
  return a.is_tensor() && b.is_tensor() && a.dtype == b.dtype &&
         std::equal(a.sizes.begin(), a.sizes.end(), b.sizes.begin(),
                    b.sizes.end(), is_same);
}

class ChainFinder {
 public:
  explicit ChainFinder(const Program& program)
      : program_(program), positions_(NodePositions(program, Program::kRoot)) {}

  // The chain that ends with `result`, if it leads back to `start`.
  std::optional<StateChain> Find(ValueId start, ValueId result) const {
    StateChain chain;
    chain.start = start;
    for (ValueId at = result; at != start;) {
      const auto link = LinkTo(at);
      if (!link) return std::nullopt;
      at = program_.args(link->call)[link->input].value();
      chain.links.push_back(*link);
    }
    std::reverse(chain.links.begin(), chain.links.end());
    return chain.links.empty() ? std::nullopt : std::optional(chain);
  }

 private:
  std::optional<StateLink> LinkTo(ValueId result) const {
    const Value& value = program_.value(result);
    if (value.is_input()) return std::nullopt;
    StateLink link;
    link.call = value.def;
    link.output = value.index;
    const GraphId child = GraphOf(program_, link.call);
    if (!child.valid()) return std::nullopt;
    const auto input = Continued(child, link.output);
    const auto args = program_.args(link.call);
    if (!input || *input >= args.size() || !args[*input].is_value()) {
      return std::nullopt;
    }
    link.input = *input;
    const ValueId old = args[link.input].value();
    if (!HaveSameType(program_.type(old), program_.type(result)) ||
        !IsLastReader(link, old) || !IsAlone(child, link)) {
      return std::nullopt;
    }
    return link;
  }

  // The child's input that its output is a new version of.
  std::optional<uint32_t> Continued(GraphId child, uint32_t output) const {
    const auto outputs = program_.outputs(child);
    if (output >= outputs.size() || !outputs[output].is_value()) {
      return std::nullopt;
    }
    ValueId at = outputs[output].value();
    while (!program_.value(at).is_input()) {
      const NodeId n = program_.value(at).def;
      const auto args = program_.args(n);
      if (program_.node(n).kind != NodeKind::kOp || args.empty() ||
          !args[0].is_value()) {
        return std::nullopt;
      }
      at = args[0].value();
    }
    return program_.value(at).index;
  }

  bool IsLastReader(const StateLink& link, ValueId old) const {
    uint32_t num_here = 0;
    bool is_last = true;
    for (const NodeId n : program_.nodes(Program::kRoot)) {
      program_.ForEachOperand(n, [&](ValueId v) {
        if (v != old) return;
        num_here += n == link.call ? 1 : 0;
        is_last = is_last && positions_[n.index] <= positions_[link.call.index];
      });
    }
    return is_last && num_here == 1;
  }

  // Whether the call gives nothing else that shows either version.
  bool IsAlone(GraphId child, const StateLink& link) const {
    const AliasClasses classes(program_, child);
    const auto outputs = program_.outputs(child);
    const uint32_t old =
        classes.class_of(program_.graph(child).inputs[link.input]);
    const uint32_t changed = classes.class_of(outputs[link.output].value());
    for (uint32_t k = 0; k < outputs.size(); ++k) {
      if (k == link.output || !outputs[k].is_value()) continue;
      const uint32_t c = classes.class_of(outputs[k].value());
      if (c == AliasClasses::kNoClass) continue;
      if (c == old || c == changed) return false;
    }
    return true;
  }

  const Program& program_;
  const std::vector<uint32_t> positions_;
};

}  // namespace

std::vector<StateChain> FindStateChains(const Program& program) {
  std::vector<StateChain> out;
  const ChainFinder finder(program);
  const auto& specs = program.signature.outputs;
  const auto outputs = program.outputs(Program::kRoot);
  for (size_t k = 0; k < specs.size() && k < outputs.size(); ++k) {
    const bool is_state = specs[k].kind == OutputKind::kBufferMutation ||
                          specs[k].kind == OutputKind::kParameterMutation;
    if (!is_state || !outputs[k].is_value()) continue;
    for (size_t i = 0; i < program.signature.inputs.size(); ++i) {
      if (program.signature.inputs[i].state != specs[k].state) continue;
      auto chain = finder.Find(program.root().inputs[i], outputs[k].value());
      if (chain) out.push_back(std::move(*chain));
      break;
    }
  }
  return out;
}

}  // namespace tenon::executorch
