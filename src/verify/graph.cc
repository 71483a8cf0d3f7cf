// V-GRAPH: structure.
//
// After this chapter found nothing, the following holds, and the others rely on
// it. Every id names an entry of its table. The nodes of a graph form one
// doubly linked list that ends in the graph's output node; a node stands in one
// graph. Each value has one definition, a graph input or a node's result, and
// agrees with it. An operand is a value of the same graph, defined before. The
// list of uses of a value holds exactly the arguments that hold the value.
// Arguments belong to one place. Nested, called and compiled graphs exist, and
// no graph reaches itself.
#include <algorithm>
#include <string>

#include "verify/verification.h"

namespace tenon {
namespace {

constexpr uint32_t kNowhere = 0xFFFFFFFFu;
// Lists in lists: deeper nesting than this is no argument of any operator.
constexpr int kMaxListDepth = 32;

template <typename Tag>
bool IsIn(IdRange<Tag> range, size_t size) {
  return uint64_t{range.begin} + range.count <= size;
}
template <typename Tag>
bool IsNoneOrIn(Id<Tag> id, size_t size) {
  return !id.valid() || id.index < size;
}

class GraphChecker {
 public:
  explicit GraphChecker(const Verification& v)
      : v_(v),
        p_(v.program),
        num_strings_(p_.context().strings.size()),
        num_types_(p_.context().types.size()),
        node_graph_(p_.num_nodes(), kNowhere),
        value_graph_(p_.num_values(), kNowhere),
        num_uses_(p_.num_values(), 0),
        is_arg_taken_(p_.num_args(), false) {}

  bool Run() {
    const size_t before = v_.diags.num_errors();
    // V-GRAPH-01: there is a root graph to begin with.
    if (p_.num_graphs() == 0 || p_.root().is_erased) {
      v_.diags.Error(Rule::kGraph01) << "the program has no root graph";
      return false;
    }
    for (uint32_t i = 0; i < p_.num_graphs(); ++i) {
      if (!p_.graph(GraphId(i)).is_erased) WalkGraph(GraphId(i));
    }
    CheckDelegateSources();
    // A value may lack its definition because of what was found already.
    if (v_.diags.num_errors() != before) return false;
    for (const Pending& pending : pending_) ReportOperand(pending);
    if (v_.diags.num_errors() != before) return false;
    CheckUseLists();
    if (v_.diags.num_errors() != before) return false;
    CheckRecursion();
    return v_.diags.num_errors() == before;
  }

 private:
  // An operand that had no definition when its user was reached.
  struct Pending {
    GraphId graph;
    NodeId node;
    ValueId value;
  };

  static std::string NodeText(NodeId n) {
    return "node #" + std::to_string(n.index);
  }
  Place PlaceOf(GraphId g) const {
    const StringId name = p_.graph(g).name;
    std::string text = IsString(name) ? std::string(p_.view(name)) : "";
    return Place::Node(std::move(text));
  }
  // Describe looks at names and operators, which may be what is wrong.
  Place PlaceOf(GraphId g, NodeId n) const {
    if (!n.valid()) return PlaceOf(g);  // a default of the graph's parameters
    const Node& node = p_.node(n);
    const bool is_safe =
        IsString(p_.graph(g).name) && IsString(node.name) &&
        IsNoneOrIn(node.op, p_.context().num_ops()) &&
        IsIn(node.results, p_.num_values()) &&
        (node.results.empty() || IsString(p_.value(node.results[0]).name));
    return Place::Node(is_safe ? p_.Describe(g, n) : NodeText(n));
  }
  bool IsString(StringId id) const { return IsNoneOrIn(id, num_strings_); }

  void WalkGraph(GraphId g) {
    const Graph& graph = p_.graph(g);
    if (!IsString(graph.name)) {
      v_.diags.Error(Rule::kGraph01,
                     Place::Node("graph #" + std::to_string(g.index)))
          << "the graph's name is no interned string";
      return;
    }
    for (const Parameter& parameter : graph.parameters) {
      if (!IsString(parameter.name)) {
        v_.diags.Error(Rule::kGraph01, PlaceOf(g))
            << "a parameter's name is no interned string";
        return;
      }
      if (parameter.value.valid()) CheckDefault(g, parameter.value, 0);
    }
    for (uint32_t i = 0; i < graph.inputs.size(); ++i) {
      DefineInput(g, graph.inputs[i], i);
    }
    WalkNodes(g);
  }

  // V-GRAPH-13: a default is a literal, of the graph's own.
  void CheckDefault(GraphId g, ArgId id, int depth) {
    if (id.index >= p_.num_args()) {
      v_.diags.Error(Rule::kGraph01, PlaceOf(g))
          << "a parameter names a default that doesn't exist";
      return;
    }
    const Arg& a = p_.arg(id);
    if (a.kind == ArgKind::kValue || a.kind == ArgKind::kGraph) {
      v_.diags.Error(Rule::kGraph13, PlaceOf(g))
          << "a parameter's default is no literal";
      return;
    }
    if (a.kind != ArgKind::kList && a.kind != ArgKind::kDict) {
      return CheckArgs(g, NodeId(), {id.index, 1}, depth);
    }
    // V-GRAPH-11 for the list itself, then its items.
    if (is_arg_taken_[id.index] || depth > kMaxListDepth ||
        !IsIn(a.list, p_.num_args())) {
      v_.diags.Error(Rule::kGraph11, PlaceOf(g))
          << "a parameter's default is nested too deeply, or part of two "
             "places";
      return;
    }
    is_arg_taken_[id.index] = true;
    for (uint32_t i = 0; i < a.list.count; ++i) {
      CheckDefault(g, a.list[i], depth + 1);
    }
  }

  void DefineInput(GraphId g, ValueId id, uint32_t index) {
    if (!IsSoundRecord(id)) {
      ReportRecord(PlaceOf(g), id);
      return;
    }
    const Value& value = p_.value(id);
    // V-GRAPH-06: an input knows that it is one, and which.
    if (value.def.valid() || value.index != index ||
        value_graph_[id.index] != kNowhere) {
      v_.diags.Error(Rule::kGraph06, PlaceOf(g))
          << "input " << index
          << (value.def.valid() ? " is also a node's result"
              : value_graph_[id.index] != kNowhere
                  ? " is also another input"
                  : " states another position than it has");
      return;
    }
    value_graph_[id.index] = g.index;
  }

  // V-GRAPH-01 for a value's own ids.
  bool IsSoundRecord(ValueId id) const {
    return id.index < p_.num_values() && p_.value(id).type.index < num_types_ &&
           IsString(p_.value(id).name);
  }
  void ReportRecord(const Place& place, ValueId id) {
    auto error = v_.diags.Error(Rule::kGraph01, place);
    if (id.index >= p_.num_values()) {
      error << "value #" << id.index << " is out of range";
    } else if (p_.value(id).type.index >= num_types_) {
      error << "value #" << id.index << " has no type";
    } else {
      error << "the name of value #" << id.index << " is no interned string";
    }
  }

  void WalkNodes(GraphId g) {
    const Graph& graph = p_.graph(g);
    NodeId prev;
    for (NodeId at = graph.first;; at = p_.node(prev).next) {
      // V-GRAPH-08: the list ends in the output node, and nowhere else.
      if (!at.valid()) {
        v_.diags.Error(Rule::kGraph08, PlaceOf(g))
            << "the list of nodes ends without an output node";
        return;
      }
      if (at.index >= p_.num_nodes()) {
        v_.diags.Error(Rule::kGraph01, PlaceOf(g))
            << NodeText(at) << " is out of range";
        return;
      }
      // V-GRAPH-03: a node stands in one place.
      if (node_graph_[at.index] != kNowhere) {
        v_.diags.Error(Rule::kGraph03, PlaceOf(g, at))
                .Note(PlaceOf(GraphId(node_graph_[at.index])), "first met here")
            << "the node stands in the lists more than once";
        return;
      }
      node_graph_[at.index] = g.index;
      const Node& node = p_.node(at);
      // V-GRAPH-02: neighbours name each other.
      if (node.prev != prev || !node.in_graph) {
        v_.diags.Error(Rule::kGraph02, PlaceOf(g, at))
            << (node.in_graph ? "the node's link to the one before it is wrong"
                              : "the node isn't marked as standing in a graph");
      }
      CheckNode(g, at);
      if (node.kind == NodeKind::kOutput || at == graph.output) {
        if (node.kind != NodeKind::kOutput || at != graph.output ||
            node.next.valid()) {
          v_.diags.Error(Rule::kGraph08, PlaceOf(g, at))
              << (node.kind != NodeKind::kOutput
                      ? "the graph's output node is no output node"
                  : node.next.valid() ? "nodes follow the output node"
                                      : "a second output node");
        }
        return;
      }
      prev = at;
    }
  }

  // V-GRAPH-01 for a node's ids; then its arguments and results.
  void CheckNode(GraphId g, NodeId n) {
    const Node& node = p_.node(n);
    const Context& c = p_.context();
    const char* wrong = nullptr;
    switch (node.kind) {
      case NodeKind::kOp:
        if (node.op.index >= c.num_ops()) wrong = "operator";
        break;
      case NodeKind::kChildCall:
        CheckGraphExists(g, n, node.child);
        break;
      case NodeKind::kDelegateCall:
        if (node.delegate.index >= p_.delegates.size()) wrong = "delegate";
        delegate_calls_.push_back({g, node.delegate});
        break;
      case NodeKind::kGetState:
        if (node.state.index >= p_.state.entries.size()) wrong = "state entry";
        break;
      case NodeKind::kOutput:
        break;
      default:
        wrong = "kind of node";
    }
    if (!IsString(node.name)) wrong = "string";
    if (!IsNoneOrIn(node.form, c.num_forms())) wrong = "result form";
    if (!IsNoneOrIn(node.metadata, c.num_metadata())) wrong = "metadata";
    if (!IsNoneOrIn(node.region, p_.regions.size())) wrong = "region";
    if (!IsIn(node.args, p_.num_args())) wrong = "argument";
    if (!IsIn(node.results, p_.num_values())) wrong = "result";
    if (node.results.count > 0 && node.kind == NodeKind::kOutput) {
      wrong = "result of an output node";
    }
    if (wrong != nullptr) {
      v_.diags.Error(Rule::kGraph01, PlaceOf(g, n))
          << "the node names a " << wrong << " that doesn't exist";
      return;
    }
    CheckArgs(g, n, node.args, 0);
    for (uint32_t i = 0; i < node.results.count; ++i) {
      DefineResult(g, n, node.results[i], i);
    }
  }

  void DefineResult(GraphId g, NodeId n, ValueId id, uint32_t index) {
    const Value& value = p_.value(id);
    if (!IsSoundRecord(id)) {
      ReportRecord(PlaceOf(g, n), id);
      value_graph_[id.index] = g.index;  // defined, if badly
      return;
    }
    // V-GRAPH-06: one definition, and the value names it.
    if (value.def != n || value.index != index ||
        value_graph_[id.index] != kNowhere) {
      v_.diags.Error(Rule::kGraph06, PlaceOf(g, n))
          << "result " << index
          << (value.def != n         ? " states another definition"
              : value.index != index ? " states another position than it has"
                                     : " is defined twice");
      return;
    }
    value_graph_[id.index] = g.index;
  }

  void CheckArgs(GraphId g, NodeId n, ArgRange range, int depth) {
    for (uint32_t i = 0; i < range.count; ++i) {
      const ArgId id = range[i];
      // V-GRAPH-11: an argument is one place of one node.
      if (is_arg_taken_[id.index] || depth > kMaxListDepth) {
        v_.diags.Error(Rule::kGraph11, PlaceOf(g, n))
            << (depth > kMaxListDepth ? "arguments are nested too deeply"
                                      : "an argument belongs to two places");
        return;
      }
      is_arg_taken_[id.index] = true;
      CheckArg(g, n, id, depth);
    }
  }

  void CheckArg(GraphId g, NodeId n, ArgId id, int depth) {
    const Arg& a = p_.arg(id);
    if (a.kind == ArgKind::kValue) {
      const ValueId v = a.v.value;
      if (v.index >= p_.num_values() || a.v.use.index >= p_.num_uses() ||
          !IsString(a.name)) {
        return BadArg(g, n, "value or use");
      }
      ++num_uses_[v.index];
      if (value_graph_[v.index] != g.index) pending_.push_back({g, n, v});
      return;
    }
    if (!IsString(a.name)) return BadArg(g, n, "string");
    switch (a.kind) {
      case ArgKind::kNone:
      case ArgKind::kInt:
      case ArgKind::kFloat:
      case ArgKind::kBool:
      case ArgKind::kValue:
        break;
      case ArgKind::kString:
        if (a.text.index >= num_strings_) BadArg(g, n, "string");
        break;
      case ArgKind::kDtype:
        if (a.i < 0 || a.i > static_cast<int64_t>(DType::kUInt64)) {
          BadArg(g, n, "dtype");
        }
        break;
      case ArgKind::kLayout:
        if (a.i < 0 || a.i > static_cast<int64_t>(Layout::kStrided)) {
          BadArg(g, n, "layout");
        }
        break;
      case ArgKind::kMemoryFormat:
        if (a.i < 0 || a.i > static_cast<int64_t>(MemoryFormat::kPreserve)) {
          BadArg(g, n, "memory format");
        }
        break;
      case ArgKind::kDevice:
        if (a.device.type.index >= num_strings_) BadArg(g, n, "device");
        break;
      case ArgKind::kGraph:
        CheckGraphExists(g, n, a.graph);
        break;
      case ArgKind::kOperator:
        if (a.op.index >= p_.context().num_ops()) BadArg(g, n, "operator");
        break;
      case ArgKind::kObject:
        if (!IsString(a.object.name) || !IsString(a.object.class_fqn)) {
          BadArg(g, n, "string");
        }
        break;
      case ArgKind::kComplex:
      case ArgKind::kList:
      case ArgKind::kDict:
        if (!IsIn(a.list, p_.num_args())) return BadArg(g, n, "item");
        if (a.kind == ArgKind::kComplex && !IsComplexPair(a.list)) {
          return BadArg(g, n, "complex number");
        }
        CheckArgs(g, n, a.list, depth + 1);
        break;
      default:
        BadArg(g, n, "kind of argument");
    }
  }

  bool IsComplexPair(ArgRange list) const {
    return list.count == 2 && p_.arg(list[0]).kind == ArgKind::kFloat &&
           p_.arg(list[1]).kind == ArgKind::kFloat;
  }

  void BadArg(GraphId g, NodeId n, const char* what) {
    v_.diags.Error(Rule::kGraph01, PlaceOf(g, n))
        << "an argument names a " << what << " that doesn't exist";
  }

  // V-GRAPH-09: what is called, nested or compiled from is there.
  void CheckGraphExists(GraphId g, NodeId n, GraphId target) {
    if (target.index >= p_.num_graphs() || p_.graph(target).is_erased) {
      v_.diags.Error(Rule::kGraph09, PlaceOf(g, n))
          << "the node refers to a graph that doesn't exist";
      return;
    }
    edges_.push_back({g.index, target.index});
  }

  void CheckDelegateSources() {
    for (const Delegate& d : p_.delegates) {
      const bool is_sound =
          IsString(d.name) && IsString(d.backend) &&
          std::all_of(d.input_names.begin(), d.input_names.end(),
                      [&](StringId s) { return IsString(s); }) &&
          std::all_of(d.output_names.begin(), d.output_names.end(),
                      [&](StringId s) { return IsString(s); });
      const auto is_type = [&](TypeId t) { return t.index < num_types_; };
      if (!is_sound ||
          !std::all_of(d.inputs.begin(), d.inputs.end(), is_type) ||
          !std::all_of(d.outputs.begin(), d.outputs.end(), is_type)) {
        v_.diags.Error(Rule::kGraph01)
            << "a delegate names a string or type that doesn't exist";
      }
      if (d.source.valid() &&
          (d.source.index >= p_.num_graphs() || p_.graph(d.source).is_erased)) {
        v_.diags.Error(Rule::kGraph09)
            << "a delegate was compiled from a graph that doesn't exist";
      }
    }
    for (const Region& r : p_.regions) {
      if (!IsString(r.name) || !IsString(r.backend)) {
        v_.diags.Error(Rule::kGraph01) << "a region's name is no string";
      }
    }
    for (const StateEntry& e : p_.state.entries) {
      if (!IsString(e.fqn) || e.type.index >= num_types_) {
        v_.diags.Error(Rule::kGraph01)
            << "a state entry names a string or type that doesn't exist";
      }
    }
    for (const SymbolRange& r : p_.ranges) {
      if (!IsNoneOrIn(r.expr, p_.context().exprs.size())) {
        v_.diags.Error(Rule::kGraph01)
            << "a range names an expression that doesn't exist";
      }
    }
  }

  void ReportOperand(const Pending& pending) {
    const uint32_t home = value_graph_[pending.value.index];
    const Place place = PlaceOf(pending.graph, pending.node);
    const std::string name = v_.ValueText(pending.value);
    if (home == pending.graph.index) {
      // V-GRAPH-04: definition before use.
      v_.diags.Error(Rule::kGraph04, place)
              .Note(PlaceOf(pending.graph, p_.value(pending.value).def),
                    "defined here")
          << "the value " << name << " is used before it is defined";
    } else if (home == kNowhere) {
      v_.diags.Error(Rule::kGraph04, place)
          << "the value " << name << " is used, but no graph defines it";
    } else {
      // V-GRAPH-05: graphs see their own values only.
      v_.diags.Error(Rule::kGraph05, place)
              .Note(PlaceOf(GraphId(home)), "it belongs to this graph")
          << "the operand " << name << " is a value of another graph";
    }
  }

  // V-GRAPH-07: recomputes what the list of uses must hold. Every use in a list
  // is a different argument that holds the value; their number is the number
  // of such arguments; so the list is complete.
  void CheckUseLists() {
    for (uint32_t i = 0; i < p_.num_values(); ++i) {
      const Value& value = p_.value(ValueId(i));
      if (value.num_uses == 0 && num_uses_[i] == 0 &&
          !value.first_use.valid()) {
        continue;
      }
      if (const char* wrong = WrongUses(ValueId(i))) {
        const bool has_home = value_graph_[i] != kNowhere;
        v_.diags.Error(Rule::kGraph07,
                       has_home ? PlaceOf(GraphId(value_graph_[i])) : Place())
            << "the uses of value #" << i << ": " << wrong;
      }
    }
  }

  const char* WrongUses(ValueId v) const {
    const Value& value = p_.value(v);
    if (value.num_uses != num_uses_[v.index]) {
      return "the count differs from the arguments that hold the value";
    }
    uint32_t met = 0;
    UseId prev;
    for (UseId u = value.first_use; u.valid(); u = p_.use(u).next) {
      if (u.index >= p_.num_uses()) return "a use is out of range";
      const Use& use = p_.use(u);
      if (++met > value.num_uses) return "the list is longer than its count";
      if (use.prev != prev) return "a link to the use before is wrong";
      if (use.arg.index >= p_.num_args() || !is_arg_taken_[use.arg.index]) {
        return "a use names no argument of a node";
      }
      const Arg& a = p_.arg(use.arg);
      if (!a.is_value() || a.v.value != v || a.v.use != u) {
        return "a use names an argument that doesn't hold the value";
      }
      if (use.user.index >= p_.num_nodes() ||
          node_graph_[use.user.index] == kNowhere) {
        return "a use names a node that stands in no graph";
      }
      prev = u;
    }
    return met == value.num_uses ? nullptr
                                 : "the list is shorter than its count";
  }

  // V-GRAPH-10: walks the graphs' calls, children before parents.
  void CheckRecursion() {
    for (const auto& [graph, delegate] : delegate_calls_) {
      const GraphId source = p_.delegates[delegate.index].source;
      if (source.valid()) edges_.push_back({graph.index, source.index});
    }
    std::sort(edges_.begin(), edges_.end());
    const auto first_edge = [&](uint32_t g) {
      return static_cast<size_t>(
          std::lower_bound(edges_.begin(), edges_.end(),
                           std::pair<uint32_t, uint32_t>(g, 0)) -
          edges_.begin());
    };
    enum : uint8_t { kNew, kOpen, kDone };
    std::vector<uint8_t> stage(p_.num_graphs(), kNew);
    struct Visit {
      uint32_t graph;
      size_t edge;
    };
    std::vector<Visit> stack;
    for (uint32_t start = 0; start < p_.num_graphs(); ++start) {
      if (stage[start] != kNew) continue;
      stage[start] = kOpen;
      stack.push_back({start, first_edge(start)});
      while (!stack.empty()) {
        Visit& top = stack.back();
        if (top.edge >= edges_.size() || edges_[top.edge].first != top.graph) {
          stage[top.graph] = kDone;
          stack.pop_back();
          continue;
        }
        const uint32_t next = edges_[top.edge++].second;
        if (stage[next] == kOpen) {
          v_.diags.Error(Rule::kGraph10, PlaceOf(GraphId(next)))
                  .Note(PlaceOf(GraphId(top.graph)), "called from here")
              << "the graph reaches itself through calls";
        } else if (stage[next] == kNew) {
          stage[next] = kOpen;
          stack.push_back({next, first_edge(next)});
        }
      }
    }
  }

  const Verification& v_;
  const Program& p_;
  const size_t num_strings_, num_types_;
  std::vector<uint32_t> node_graph_;   // where each node was met
  std::vector<uint32_t> value_graph_;  // where each value is defined
  std::vector<uint32_t> num_uses_;     // counted from the arguments
  std::vector<uint8_t> is_arg_taken_;  // bytes: looked at once per operand
  std::vector<Pending> pending_;
  std::vector<std::pair<GraphId, DelegateId>> delegate_calls_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_;  // graph to graph
};

// V-GRAPH-12: a graph that is declared to return a bare value has one output.
// V-GRAPH-13: parameters are declared for all inputs, each name once.
void CheckDeclarations(const Verification& v, GraphId g) {
  const Graph& graph = v.program.graph(g);
  const size_t num_outputs = v.program.outputs(g).size();
  if (graph.returns_single && num_outputs != 1) {
    v.Error(Rule::kGraph12, g) << "the graph returns a bare value, but has "
                               << num_outputs << " outputs, expected 1";
  }
  if (graph.parameters.empty()) return;
  if (graph.parameters.size() != graph.inputs.size()) {
    v.Error(Rule::kGraph13, g) << "the graph has " << graph.parameters.size()
                               << " parameter names, expected one for each of "
                               << graph.inputs.size() << " inputs";
    return;
  }
  std::vector<StringId> names;
  for (const Parameter& p : graph.parameters) {
    if (!v.program.view(p.name).empty()) names.push_back(p.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    v.Error(Rule::kGraph13, g)
        << "two inputs are declared as '" << v.program.view(*twice) << "'";
  }
}

}  // namespace

bool VerifyGraphs(const Verification& v) { return GraphChecker(v).Run(); }

void VerifyCallGraph(const Verification& v) {
  for (uint32_t i = 0; i < v.program.num_graphs(); ++i) {
    if (!v.program.graph(GraphId(i)).is_erased) {
      CheckDeclarations(v, GraphId(i));
    }
  }
}

}  // namespace tenon
