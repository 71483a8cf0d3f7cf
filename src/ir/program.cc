#include "ir/program.h"

#include <algorithm>

namespace tenon {

Program::Program(std::shared_ptr<Context> context)
    : context_(std::move(context)) {}

const Arg* Program::FindArg(NodeId n, std::string_view parameter) const {
  for (const Arg& a : args(n)) {
    if (view(a.name) == parameter) return &a;
  }
  return nullptr;
}

std::string Program::Describe(GraphId g, NodeId n) const {
  std::string out(view(graph(g).name));
  out += '/';
  if (node(n).kind == NodeKind::kOutput) return out + "output";
  std::string_view label = view(node(n).name);
  if (label.empty() && node(n).results.count > 0) {
    label = view(value(node(n).results[0]).name);
  }
  out += '%';
  out += label;
  if (node(n).op.valid()) out.append(" (").append(op_name(n)).append(")");
  return out;
}

void Program::Reserve(size_t more_nodes, size_t more_values, size_t more_args) {
  // Never less than doubling, so that many small calls stay linear.
  const auto reserve = [](auto* table, size_t more) {
    const size_t wanted = table->size() + more;
    if (wanted > table->capacity()) {
      table->reserve(std::max(wanted, 2 * table->capacity()));
    }
  };
  reserve(&nodes_, more_nodes);
  reserve(&values_, more_values);
  reserve(&args_, more_args);
  reserve(&uses_, more_args);
}

GraphId Program::AddGraph(std::string_view graph_name) {
  const GraphId id(graphs_.size());
  Graph& g = graphs_.emplace_back();
  g.name = context_->Intern(graph_name);
  const NodeId output = NewNode(NodeKind::kOutput);
  nodes_[output.index].in_graph = true;
  graphs_[id.index].first = graphs_[id.index].output = output;
  return id;
}

ValueId Program::AddInput(GraphId g, TypeId type, StringId input_name) {
  const ValueId id(values_.size());
  Value& v = values_.emplace_back();
  v.type = type;
  v.name = input_name;
  v.index = static_cast<uint32_t>(graphs_[g.index].inputs.size());
  graphs_[g.index].inputs.push_back(id);
  return id;
}

void Program::EraseGraph(GraphId g) {
  // Last to first, so that users go before what they use.
  Graph& dead = graphs_[g.index];
  NodeId at = dead.output;
  while (at.valid()) {
    const NodeId prev = nodes_[at.index].prev;
    ClearArgs(nodes_[at.index].args);
    nodes_[at.index].args = {};
    nodes_[at.index].in_graph = false;
    at = prev;
  }
  dead.inputs.clear();
  dead.first = dead.output = NodeId();
  dead.first_caller = dead.last_caller = CallerId();
  dead.num_nodes = 0;
  dead.is_erased = true;
}

NodeId Program::NewNode(NodeKind kind) {
  const NodeId id(nodes_.size());
  nodes_.emplace_back().kind = kind;
  return id;
}

NodeId Program::NewOp(OpId op, StringId node_name) {
  const NodeId id = NewNode(NodeKind::kOp);
  nodes_[id.index].op = op;
  nodes_[id.index].name = node_name;
  return id;
}

ArgRange Program::NewArgs(uint32_t count) {
  const ArgRange range{static_cast<uint32_t>(args_.size()), count};
  args_.resize(args_.size() + count);
  return range;
}

void Program::SetArgRange(NodeId n, ArgRange range) {
  TENON_ASSERT(nodes_[n.index].args.empty(), "the node has arguments already");
  nodes_[n.index].args = range;
}

void Program::LinkUse(ArgId at, NodeId user, ValueId v) {
  const UseId id(uses_.size());
  Use& u = uses_.emplace_back();
  u.user = user;
  u.arg = at;
  Value& val = values_[v.index];
  u.next = val.first_use;
  if (u.next.valid()) uses_[u.next.index].prev = id;
  val.first_use = id;
  ++val.num_uses;
  Arg& a = args_[at.index];
  a.kind = ArgKind::kValue;
  a.v = {v, id};
}

void Program::UnlinkUse(ArgId at) {
  Arg& a = args_[at.index];
  if (!a.is_value()) return;
  const Use u = uses_[a.v.use.index];
  Value& val = values_[a.v.value.index];
  if (u.prev.valid()) {
    uses_[u.prev.index].next = u.next;
  } else {
    val.first_use = u.next;
  }
  if (u.next.valid()) uses_[u.next.index].prev = u.prev;
  --val.num_uses;
  a.kind = ArgKind::kNone;
  a.i = 0;
}

void Program::ClearArgs(ArgRange range) {
  for (uint32_t i = 0; i < range.count; ++i) {
    if (args_[range.begin + i].has_items()) {
      ClearArgs(args_[range.begin + i].list);
    }
    UnlinkUse(range[i]);
    args_[range.begin + i].kind = ArgKind::kNone;
  }
}

void Program::SetArg(ArgId at, const Arg& literal, bool keep_label) {
  TENON_ASSERT(!literal.is_value(), "a value is set by SetValueArg");
  const Arg copy = literal;
  const Arg before = args_[at.index];
  if (before.has_items() &&
      !(copy.has_items() && copy.list.begin == before.list.begin)) {
    ClearArgs(before.list);
  }
  UnlinkUse(at);
  Arg& a = args_[at.index];
  const StringId label = a.name;
  const PassKind pass = a.pass;
  a = copy;
  if (keep_label) {
    a.name = label;
    a.pass = pass;
  }
}

void Program::SetValueArg(ArgId at, NodeId user, ValueId v) {
  TENON_ASSERT(v.index < values_.size(), "an argument needs an existing value");
  UnlinkUse(at);
  LinkUse(at, user, v);
}

void Program::SetArgLabel(ArgId at, StringId label, PassKind pass) {
  args_[at.index].name = label;
  args_[at.index].pass = pass;
}

ValueRange Program::NewResults(NodeId n, uint32_t count) {
  TENON_ASSERT(nodes_[n.index].results.empty(), "the node has results already");
  const ValueRange range{static_cast<uint32_t>(values_.size()), count};
  for (uint32_t i = 0; i < count; ++i) {
    Value& v = values_.emplace_back();
    v.def = n;
    v.index = i;
  }
  nodes_[n.index].results = range;
  return range;
}

void Program::Append(GraphId g, NodeId n) {
  InsertBefore(g, graphs_[g.index].output, n);
}

void Program::InsertBefore(GraphId g, NodeId anchor, NodeId n) {
  TENON_ASSERT(!nodes_[n.index].in_graph, "the node is in a graph already");
  const NodeId before = nodes_[anchor.index].prev;
  nodes_[n.index].prev = before;
  nodes_[n.index].next = anchor;
  nodes_[n.index].in_graph = true;
  nodes_[anchor.index].prev = n;
  if (before.valid()) {
    nodes_[before.index].next = n;
  } else {
    graphs_[g.index].first = n;
  }
  ++graphs_[g.index].num_nodes;
  if (MayCall(nodes_[n.index])) LinkCaller(g, anchor, n);
}

void Program::Unlink(GraphId g, NodeId n) {
  Node& node = nodes_[n.index];
  TENON_ASSERT(node.in_graph && node.next.valid(),
               "only nodes before the output node are unlinked");
  nodes_[node.next.index].prev = node.prev;
  if (node.prev.valid()) {
    nodes_[node.prev.index].next = node.next;
  } else {
    graphs_[g.index].first = node.next;
  }
  node.prev = node.next = NodeId();
  node.in_graph = false;
  --graphs_[g.index].num_nodes;
  if (node.caller.valid()) UnlinkCaller(g, n);
}

void Program::SpliceBefore(GraphId to, NodeId anchor, GraphId from) {
  Graph& source = graphs_[from.index];
  if (source.first == source.output) return;
  const NodeId first = source.first;
  const NodeId last = nodes_[source.output.index].prev;
  source.first = source.output;
  nodes_[source.output.index].prev = NodeId();

  const NodeId before = nodes_[anchor.index].prev;
  nodes_[first.index].prev = before;
  if (before.valid()) {
    nodes_[before.index].next = first;
  } else {
    graphs_[to.index].first = first;
  }
  nodes_[last.index].next = anchor;
  nodes_[anchor.index].prev = last;

  graphs_[to.index].num_nodes += source.num_nodes;
  source.num_nodes = 0;
  if (!source.first_caller.valid()) return;
  LinkCallers(to, anchor, source.first_caller, source.last_caller);
  source.first_caller = source.last_caller = CallerId();
}

// A node that was one once stays one: its entry is there.
bool Program::MayCall(const Node& node) const {
  switch (node.kind) {
    case NodeKind::kChildCall:
    case NodeKind::kDelegateCall:
      return true;
    case NodeKind::kOp:
      return node.caller.valid() || node.op.index >= context_->num_ops() ||
             context_->op(node.op).may_hold_graphs();
    case NodeKind::kGetState:
    case NodeKind::kOutput:
      break;
  }
  return node.caller.valid();
}

void Program::LinkCaller(GraphId g, NodeId anchor, NodeId n) {
  CallerId& caller = nodes_[n.index].caller;
  if (!caller.valid()) {
    caller = CallerId(callers_.size());
    callers_.push_back({n, {}, {}});
  }
  LinkCallers(g, anchor, caller, caller);
}

void Program::UnlinkCaller(GraphId g, NodeId n) {
  Caller& caller = callers_[nodes_[n.index].caller.index];
  Graph& graph = graphs_[g.index];
  (caller.prev.valid() ? callers_[caller.prev.index].next
                       : graph.first_caller) = caller.next;
  (caller.next.valid() ? callers_[caller.next.index].prev : graph.last_caller) =
      caller.prev;
  caller.prev = caller.next = CallerId();
}

void Program::LinkCallers(GraphId g, NodeId anchor, CallerId first,
                          CallerId last) {
  Graph& graph = graphs_[g.index];
  const CallerId after = nodes_[anchor.index].caller;
  CallerId& after_prev =
      after.valid() ? callers_[after.index].prev : graph.last_caller;
  const CallerId before = after_prev;
  after_prev = last;
  (before.valid() ? callers_[before.index].next : graph.first_caller) = first;
  callers_[first.index].prev = before;
  callers_[last.index].next = after;
}

void Program::Erase(GraphId g, NodeId n) {
  const ValueRange results = nodes_[n.index].results;
  for (uint32_t i = 0; i < results.count; ++i) {
    TENON_ASSERT(values_[results.begin + i].num_uses == 0,
                 "an erased node's results must be unused");
  }
  if (nodes_[n.index].in_graph) Unlink(g, n);
  ClearArgs(nodes_[n.index].args);
  nodes_[n.index].args = {};
}

void Program::ReplaceAllUses(ValueId from, ValueId to) {
  if (from == to) return;
  Value& source = values_[from.index];
  if (!source.first_use.valid()) return;
  UseId last;
  for (UseId u = source.first_use; u.valid(); u = uses_[u.index].next) {
    args_[uses_[u.index].arg.index].v.value = to;
    last = u;
  }
  Value& target = values_[to.index];
  uses_[last.index].next = target.first_use;
  if (target.first_use.valid()) uses_[target.first_use.index].prev = last;
  target.first_use = source.first_use;
  target.num_uses += source.num_uses;
  source.first_use = UseId();
  source.num_uses = 0;
}

void Program::ReplaceUse(UseId u, const Arg& literal) {
  SetArg(uses_[u.index].arg, literal, /*keep_label=*/true);
}

void Program::ReplaceUse(UseId u, ValueId to) {
  const Use copy = uses_[u.index];
  SetValueArg(copy.arg, copy.user, to);
}

void Program::CopyArg(ArgId from, ArgId to, NodeId user) {
  const Arg source = arg(from);  // a copy: the table may move
  SetArgLabel(to, source.name, source.pass);
  if (source.is_value()) {
    SetValueArg(to, user, source.v.value);
    return;
  }
  Arg literal = source;
  if (source.has_items()) {
    literal.list = CopyArgs(
        source.list, user, [](ValueId v) { return v; },
        [](GraphId g) { return g; });
  }
  SetArg(to, literal);
}

void Program::ReplaceArgs(NodeId n, ArgRange range) {
  Node& node = nodes_[n.index];
  ClearArgs(node.args);
  node.args = range;
}

void Program::SetOutputs(GraphId g, ArgRange range) {
  ReplaceArgs(graphs_[g.index].output, range);
}

}  // namespace tenon
