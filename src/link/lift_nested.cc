#include "link/lift_nested.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/higher_order.h"

namespace tenon {
namespace {

// A node that holds graphs, or calls a delegate that stands for one (J-8).
struct Holder {
  GraphId graph;  // the one that the node lies in
  NodeId node;
};

class NestedLifter {
 public:
  NestedLifter(Program* program, Diagnostics& diags)
      : program_(*program),
        diags_(diags),
        holders_(program->num_graphs()),
        family_(program->num_graphs()) {
    std::iota(family_.begin(), family_.end(), 0u);
  }

  Status Run() {
    if (!HasNestedState()) return {};
    const std::vector<GraphId> order = VisitGraphs();
    TENON_TRY(CheckHolders());
    // Callees first: what a graph's own nodes hold is lifted into it before it
    // is. A family is done when its last member's turn has come.
    std::vector<uint32_t> left(program_.num_graphs(), 0);
    for (const GraphId g : order) ++left[FamilyOf(g)];
    std::vector<std::vector<GraphId>> members(program_.num_graphs());
    for (const GraphId g : order) {
      const uint32_t family = FamilyOf(g);
      members[family].push_back(g);
      if (--left[family] == 0 && g != Program::kRoot) Lift(members[family]);
    }
    return {};
  }

 private:
  bool HasNestedState() const {
    for (uint32_t g = 1; g < program_.num_graphs(); ++g) {
      if (program_.graph(GraphId(g)).is_erased) continue;
      for (const NodeId n : program_.nodes(GraphId(g))) {
        if (program_.node(n).kind == NodeKind::kGetState) return true;
      }
    }
    return false;
  }

  std::vector<GraphId> HeldBy(NodeId n) const {
    std::vector<GraphId> out;
    program_.ForEachNestedGraph(n, [&](GraphId g) { out.push_back(g); });
    const Node& node = program_.node(n);
    if (node.kind == NodeKind::kDelegateCall) {
      const GraphId source = program_.delegates[node.delegate.index].source;
      if (source.valid()) out.push_back(source);
    }
    return out;
  }

  uint32_t FamilyOf(GraphId g) {
    uint32_t f = g.index;
    while (family_[f] != f) f = family_[f] = family_[family_[f]];
    return f;
  }

  // All graphs that the root reaches, callees before callers; graphs of one
  // node become a family, since they get the same operands.
  std::vector<GraphId> VisitGraphs() {
    struct Entry {
      GraphId graph;
      std::vector<GraphId> held;
      size_t next = 0;
    };
    std::vector<GraphId> order;
    std::vector<bool> seen(program_.num_graphs(), false);
    std::vector<Entry> stack;
    const auto push = [&](GraphId g) {
      seen[g.index] = true;
      Entry entry{g, {}, 0};
      for (const NodeId n : program_.nodes(g)) {
        const std::vector<GraphId> held = HeldBy(n);
        for (const GraphId h : held) {
          holders_[h.index].push_back({g, n});
          family_[FamilyOf(h)] = FamilyOf(held[0]);
        }
        entry.held.insert(entry.held.end(), held.begin(), held.end());
      }
      stack.push_back(std::move(entry));
    };
    push(Program::kRoot);
    while (!stack.empty()) {
      Entry& top = stack.back();
      if (top.next == top.held.size()) {
        order.push_back(top.graph);
        stack.pop_back();
        continue;
      }
      const GraphId next = top.held[top.next++];
      if (!seen[next.index]) push(next);
    }
    return order;
  }

  Status CheckHolders() {
    bool ok = true;
    for (const auto& holders : holders_) {
      for (const Holder& h : holders) {
        const Node& node = program_.node(h.node);
        const bool is_known = node.kind == NodeKind::kDelegateCall ||
                              (node.kind == NodeKind::kOp && CanGrow(h.node));
        if (is_known) continue;
        ok = false;
        diags_.Error(Rule::kUnsupported,
                     Place::Node(program_.Describe(h.graph, h.node)))
            << "how further operands are passed to the graphs of this node "
               "isn't known, so state can't be lifted out of them";
      }
    }
    if (!ok) return Failure{};
    return {};
  }

  // Whether more operands can follow the last ones: a list that is left out, or
  // whose place something else takes (the older form of scan), has no end.
  bool CanGrow(NodeId n) const {
    const HigherOrderConvention* convention =
        FindHigherOrderConvention(program_.op_name(n));
    if (convention == nullptr) return false;
    const OperandGroup& group = convention->groups.back();
    const auto args = program_.args(n);
    return group.is_rest ||
           (group.arg < args.size() && args[group.arg].kind == ArgKind::kList);
  }

  void Lift(const std::vector<GraphId>& graphs) {
    std::vector<StateId> states;
    for (const GraphId g : graphs) {
      for (const NodeId n : program_.nodes(g)) {
        if (program_.node(n).kind != NodeKind::kGetState) continue;
        const StateId s = program_.node(n).state;
        const auto next = static_cast<uint32_t>(states.size());
        if (position_.emplace(s, next).second) states.push_back(s);
      }
    }
    if (states.empty()) return;
    std::vector<Holder> holders;
    for (const GraphId g : graphs) {
      AddInputs(g, states);
      for (const Holder& h : holders_[g.index]) {
        const bool is_new =
            std::none_of(holders.begin(), holders.end(),
                         [&](const Holder& o) { return o.node == h.node; });
        if (is_new) holders.push_back(h);
      }
    }
    std::vector<DelegateId> delegates;
    for (const Holder& h : holders) {
      PassState(h, states);
      const Node& node = program_.node(h.node);
      if (node.kind == NodeKind::kDelegateCall &&
          std::find(delegates.begin(), delegates.end(), node.delegate) ==
              delegates.end()) {
        delegates.push_back(node.delegate);
      }
    }
    for (const DelegateId d : delegates) AddDelegateInputs(d, states);
    position_.clear();
  }

  void AddInputs(GraphId g, const std::vector<StateId>& states) {
    std::vector<ValueId> inputs;
    for (const StateId s : states) {
      const StateEntry& entry = program_.state.get(s);
      inputs.push_back(program_.AddInput(g, entry.type, entry.fqn));
    }
    // Delegates and control flow pass by position; an entry may be called like
    // one of the graph's parameters.
    program_.mutable_graph(g).parameters.clear();
    for (const NodeId n : program_.nodes(g)) {
      const Node& node = program_.node(n);
      if (node.kind != NodeKind::kGetState) continue;
      program_.ReplaceAllUses(node.results[0],
                              inputs[position_.at(node.state)]);
      program_.Erase(g, n);
    }
  }

  void PassState(const Holder& holder, const std::vector<StateId>& states) {
    std::vector<ValueId> values;
    for (const StateId s : states) {
      const NodeId n = program_.NewNode(NodeKind::kGetState);
      program_.mutable_node(n).state = s;
      const ValueId v = program_.NewResults(n, 1)[0];
      program_.mutable_value(v).type = program_.state.get(s).type;
      program_.mutable_value(v).name = program_.state.get(s).fqn;
      program_.InsertBefore(holder.graph, holder.node, n);
      values.push_back(v);
    }
    const Node& node = program_.node(holder.node);
    if (node.kind == NodeKind::kDelegateCall) {
      program_.ReplaceArgs(holder.node,
                           Extended(holder.node, node.args, values));
      return;
    }
    const OperandGroup& group =
        FindHigherOrderConvention(program_.op_name(holder.node))->groups.back();
    if (group.is_rest) {
      program_.ReplaceArgs(holder.node,
                           Extended(holder.node, node.args, values));
      return;
    }
    const ArgId list = node.args[group.arg];
    Arg longer = program_.arg(list);
    longer.list = Extended(holder.node, longer.list, values);
    if (longer.list.count == values.size()) longer.list_tag = ListTag::kTensors;
    program_.SetArg(list, longer, /*keep_label=*/true);
  }

  // A copy of `range` with `values` behind it.
  ArgRange Extended(NodeId user, ArgRange range,
                    const std::vector<ValueId>& values) {
    const ArgRange out =
        program_.NewArgs(range.count + static_cast<uint32_t>(values.size()));
    for (uint32_t i = 0; i < range.count; ++i) {
      program_.CopyArg(range[i], out[i], user);
    }
    for (uint32_t i = 0; i < values.size(); ++i) {
      program_.SetArgLabel(out[range.count + i], StringId(),
                           PassKind::kPositional);
      program_.SetValueArg(out[range.count + i], user, values[i]);
    }
    return out;
  }

  void AddDelegateInputs(DelegateId id, const std::vector<StateId>& states) {
    Delegate& d = program_.delegates[id.index];
    for (const StateId s : states) {
      d.inputs.push_back(program_.state.get(s).type);
      if (!d.input_names.empty()) {
        d.input_names.push_back(program_.state.get(s).fqn);
      }
    }
  }

  Program& program_;
  Diagnostics& diags_;
  std::vector<std::vector<Holder>> holders_;  // by graph
  std::vector<uint32_t> family_;              // by graph: union-find
  // Of each state entry among those that a family is passed.
  std::unordered_map<StateId, uint32_t> position_;
};

}  // namespace

Status LiftNestedState(Program* program, Diagnostics& diags) {
  return NestedLifter(program, diags).Run();
}

}  // namespace tenon
