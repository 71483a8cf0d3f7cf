#include "link/join.h"

#include <span>
#include <string>
#include <vector>

#include "ir/call_binding.h"
#include "ir/clone.h"

namespace tenon {
namespace {

// The leaves of the child's outputs, in order: an argument per leaf.
std::vector<ArgId> OutputLeaves(const Program& program, GraphId child) {
  std::vector<ArgId> leaves;
  program.ForEachArg(program.node(program.graph(child).output).args,
                     [&](const Arg& arg, ArgId id) {
                       if (!arg.has_items()) leaves.push_back(id);
                     });
  return leaves;
}

// Checks that the call fits the child and appends what goes where (J-1): for
// each input an argument of the call, or the input's default.
Status Bind(const Program& program, GraphId parent, NodeId call,
            std::vector<ArgId>* bindings, Diagnostics& diags) {
  const GraphId child = program.node(call).child;
  const std::string child_name(program.view(program.graph(child).name));
  const CallBinding binding(program, call, child);
  bool ok = binding.faults().empty();
  for (const BindingFault& fault : binding.faults()) {
    diags.Error(Rule::kJ1, Place::Node(program.Describe(parent, call)))
            .Note(Place::Node(child_name), "declared here")
        << Describe(program, call, child, fault);
  }
  const size_t num_leaves = OutputLeaves(program, child).size();
  if (num_leaves != program.node(call).results.count) {
    ok = false;
    diags.Error(Rule::kJ4, Place::Node(program.Describe(parent, call)))
        << "child '" << child_name << "' returns " << num_leaves
        << " values, the call has " << program.node(call).results.count
        << " results";
  }
  bindings->insert(bindings->end(), binding.args().begin(),
                   binding.args().end());
  if (!ok) return Failure{};
  return {};
}

// Puts what `arg` holds in place of every use of `v`.
// `arg` by value: copying its items moves the table that it lies in.
void Substitute(Program* program, ValueId v, Arg arg) {
  if (arg.is_value()) {
    program->ReplaceAllUses(v, arg.v.value);
    return;
  }
  program->ForEachUse(v, [&](UseId u) {
    Arg copy = arg;
    if (arg.has_items()) {
      copy.list = program->CopyArgs(
          arg.list, program->use(u).user, [](ValueId x) { return x; },
          [](GraphId g) { return g; });
    }
    program->ReplaceUse(u, copy);
  });
}

void JoinBound(Program* program, GraphId parent, NodeId call, JoinMode mode,
               std::span<const ArgId> binding) {
  GraphId child = program->node(call).child;
  if (mode == JoinMode::kCopy) {
    CloneMap map;
    child = CloneGraph(*program, child, program, &map);
  }
  for (uint32_t i = 0; i < binding.size(); ++i) {
    const ValueId input = program->graph(child).inputs[i];
    Substitute(program, input, program->arg(binding[i]));
  }
  // Outputs are read only now, so that an input passed straight through is
  // already what the call passed (J-3).
  const std::vector<ArgId> leaves = OutputLeaves(*program, child);
  const ValueRange results = program->node(call).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    Substitute(program, results[i], program->arg(leaves[i]));
  }
  program->SetOutputs(child, {});
  program->SpliceBefore(parent, call, child);
  program->EraseGraph(child);
  program->Erase(parent, call);
}

// What joining needs to know of a graph's nodes.
struct GraphParts {
  std::vector<NodeId> calls;  // of children
  std::vector<GraphId> held;  // operands of control flow
};

// Graphs that the root reaches through calls and nested graphs, callees before
// callers. Reports cycles.
class ReachableGraphs {
 public:
  ReachableGraphs(const Program& program, Diagnostics& diags)
      : program_(program),
        diags_(diags),
        state_(program.num_graphs()),
        parts_(program.num_graphs()) {}

  // Of a graph that was collected.
  const GraphParts& parts(GraphId g) const { return parts_[g.index]; }

  Expected<std::vector<GraphId>> Collect() {
    // An explicit stack: nesting is as deep as the input says.
    Push(Program::kRoot);
    while (!stack_.empty()) {
      Entry& top = stack_.back();
      if (top.next == top.callees.size()) {
        state_[top.graph.index] = kDone;
        order_.push_back(top.graph);
        stack_.pop_back();
        continue;
      }
      const GraphId callee = top.callees[top.next++];
      if (state_[callee.index] == kOpen) {
        return diags_.Error(Rule::kJ7, Place::Node(std::string(program_.view(
                                           program_.graph(callee).name))))
               << "the child reaches itself";
      }
      if (state_[callee.index] == kNew) Push(callee);
    }
    return std::move(order_);
  }

 private:
  enum State : uint8_t { kNew, kOpen, kDone };
  struct Entry {
    GraphId graph;
    std::vector<GraphId> callees;
    size_t next = 0;
  };

  void Push(GraphId g) {
    Entry entry;
    entry.graph = g;
    GraphParts& parts = parts_[g.index];
    program_.ForEachCaller(g, [&](NodeId n) {
      const Node& node = program_.node(n);
      if (node.kind == NodeKind::kChildCall) {
        parts.calls.push_back(n);
        entry.callees.push_back(node.child);
      }
      program_.ForEachArg(node.args, [&](const Arg& arg, ArgId) {
        if (arg.kind != ArgKind::kGraph) return;
        parts.held.push_back(arg.graph);
        entry.callees.push_back(arg.graph);
      });
      // The graphs that delegates stand for hold calls of their own.
      if (node.kind != NodeKind::kDelegateCall) return;
      const GraphId source = program_.delegates[node.delegate.index].source;
      if (source.valid()) entry.callees.push_back(source);
    });
    state_[g.index] = kOpen;
    stack_.push_back(std::move(entry));
  }

  const Program& program_;
  Diagnostics& diags_;
  std::vector<State> state_;
  std::vector<GraphParts> parts_;  // by graph
  std::vector<Entry> stack_;
  std::vector<GraphId> order_;
};

// What joining everything would make: calls of calls multiply, so that a small
// program can stand for one that no machine holds.
class JoinedSize {
 public:
  explicit JoinedSize(const Program& program)
      : program_(program), sizes_(program.num_graphs(), 0) {}

  // Callees first. A graph counts as much as two nodes itself.
  void Add(GraphId g, const GraphParts& parts) {
    uint64_t size = 2 + program_.CountNodes(g) - parts.calls.size();
    for (const NodeId n : parts.calls) {
      const uint64_t added = sizes_[program_.node(n).child.index];
      if (__builtin_add_overflow(size, added, &size)) size = UINT64_MAX;
    }
    sizes_[g.index] = size;
    if (size > largest_) {
      largest_ = size;
      largest_graph_ = g;
    }
  }

  uint64_t largest() const { return largest_; }
  GraphId largest_graph() const { return largest_graph_; }

 private:
  const Program& program_;
  std::vector<uint64_t> sizes_;
  uint64_t largest_ = 0;
  GraphId largest_graph_;
};

struct PendingCall {
  GraphId parent;
  NodeId call;
  size_t first_bound;  // in what all calls' inputs get
};

}  // namespace

Status JoinCall(Program* program, GraphId parent, NodeId call, JoinMode mode,
                Diagnostics& diags) {
  std::vector<ArgId> binding;
  TENON_TRY(Bind(*program, parent, call, &binding, diags));
  JoinBound(program, parent, call, mode, binding);
  return {};
}

Status JoinAll(Program* program, Diagnostics& diags) {
  ReachableGraphs graphs(*program, diags);
  const auto order = graphs.Collect();
  if (!order) return Failure{};
  // Everything is checked before anything changes.
  JoinedSize size(*program);
  for (const GraphId g : *order) size.Add(g, graphs.parts(g));
  if (size.largest() > kMaxJoinedNodes) {
    return diags.Error(Rule::kUnsupported,
                       Place::Node(std::string(program->view(
                           program->graph(size.largest_graph()).name))))
           << "joined, the graph would have more than " << kMaxJoinedNodes
           << " nodes";
  }
  std::vector<PendingCall> pending;
  std::vector<ArgId> bindings;
  std::vector<uint32_t> calls_left(program->num_graphs(), 0);
  bool ok = true;
  for (const GraphId g : *order) {
    // A graph that is also an operand of control flow must stay.
    for (const GraphId held : graphs.parts(g).held) ++calls_left[held.index];
    for (const NodeId n : graphs.parts(g).calls) {
      pending.push_back({g, n, bindings.size()});
      ok = Bind(*program, g, n, &bindings, diags).ok() && ok;
      ++calls_left[program->node(n).child.index];
    }
  }
  if (!ok) return Failure{};
  // A graph that a delegate stands for is kept for it.
  for (const Delegate& d : program->delegates) {
    if (d.source.valid()) ++calls_left[d.source.index];
  }
  // Callees come first, so each child is flat when it is joined or copied. The
  // root's inputs and specs aren't touched (J-10).
  for (const PendingCall& p : pending) {
    const GraphId child = program->node(p.call).child;
    const uint32_t left = --calls_left[child.index];
    JoinBound(program, p.parent, p.call,
              left == 0 ? JoinMode::kMove : JoinMode::kCopy,
              std::span(bindings).subspan(p.first_bound,
                                          program->graph(child).inputs.size()));
  }
  return {};
}

Status ExpandDelegates(Program* program, Diagnostics& diags,
                       bool keep_unknown) {
  bool ok = true;
  for (const Delegate& d : program->delegates) {
    if (d.source.valid() || keep_unknown) continue;
    ok = false;
    diags.Error(Rule::kUnsupported,
                Place::Node(std::string(program->view(d.name))))
        << "the delegate doesn't say which graph it was compiled from";
  }
  if (!ok) return Failure{};
  std::vector<Delegate> kept;
  std::vector<DelegateId> new_ids;
  for (Delegate& d : program->delegates) {
    new_ids.push_back(d.source.valid() ? DelegateId()
                                       : DelegateId(kept.size()));
    if (!d.source.valid()) kept.push_back(d);
  }
  for (uint32_t g = 0; g < program->num_graphs(); ++g) {
    program->ForEachCaller(GraphId(g), [&](NodeId n) {
      Node& node = program->mutable_node(n);
      if (node.kind != NodeKind::kDelegateCall) return;
      const DelegateId stays = new_ids[node.delegate.index];
      if (stays.valid()) {
        node.delegate = stays;
        return;
      }
      node.kind = NodeKind::kChildCall;
      node.child = program->delegates[node.delegate.index].source;
      node.delegate = DelegateId();
    });
  }
  program->delegates = std::move(kept);
  return {};
}

}  // namespace tenon
