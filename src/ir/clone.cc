#include "ir/clone.h"

namespace tenon {
namespace {

class Cloner {
 public:
  Cloner(const Program& from, Program* to, CloneMap* map)
      : from_(from), to_(*to), map_(*map), same_(&from == to) {
    map_.values.resize(from.num_values());
    map_.graphs.resize(from.num_graphs());
    delegates_.resize(from.delegates.size());
  }

  GraphId Copy(GraphId source) {
    if (map_.graphs[source.index].valid()) return map_.graphs[source.index];
    const GraphId copy = to_.AddGraph(from_.view(from_.graph(source).name));
    map_.graphs[source.index] = copy;
    // By value: when both are one program, its tables grow meanwhile.
    const Graph graph = from_.graph(source);
    CopyParameters(graph, copy);
    to_.mutable_graph(copy).returns_single = graph.returns_single;
    for (const ValueId input : graph.inputs) {
      const Value value = from_.value(input);
      map_.values[input.index] = to_.AddInput(copy, value.type, value.name);
    }
    for (NodeId n = graph.first; n != graph.output; n = from_.node(n).next) {
      CopyNode(n, copy);
    }
    const NodeId output = to_.graph(copy).output;
    to_.SetOutputs(copy, CopyNodeArgs(graph.output, output));
    return copy;
  }

 private:
  void CopyParameters(const Graph& from, GraphId to) {
    std::vector<Parameter> parameters = from.parameters;
    for (Parameter& p : parameters) {
      if (p.value.valid()) p.value = CopyRange({p.value.index, 1}, NodeId())[0];
    }
    to_.mutable_graph(to).parameters = std::move(parameters);
  }

  ArgRange CopyNodeArgs(NodeId source, NodeId user) {
    return CopyRange(from_.node(source).args, user);
  }

  ArgRange CopyRange(ArgRange range, NodeId user) {
    const ArgRange out = to_.NewArgs(range.count);
    for (uint32_t i = 0; i < range.count; ++i) {
      const Arg source = from_.arg(range[i]);
      to_.SetArgLabel(out[i], source.name, source.pass);
      if (source.is_value()) {
        to_.SetValueArg(out[i], user, map_.values[source.v.value.index]);
        continue;
      }
      Arg literal = source;
      if (source.has_items()) {
        literal.list = CopyRange(source.list, user);
      } else if (source.kind == ArgKind::kGraph) {
        literal.graph = Copy(source.graph);
      }
      to_.SetArg(out[i], literal);
    }
    return out;
  }

  DelegateId CopyDelegate(DelegateId source) {
    if (same_) return source;
    if (!delegates_[source.index].valid()) {
      Delegate copy = from_.delegates[source.index];
      if (copy.source.valid()) copy.source = Copy(copy.source);
      delegates_[source.index] = DelegateId(to_.delegates.size());
      to_.delegates.push_back(std::move(copy));
    }
    return delegates_[source.index];
  }

  void CopyNode(NodeId source, GraphId copy) {
    const NodeId n = to_.NewNode(from_.node(source).kind);
    const Node node = from_.node(source);
    to_.SetArgRange(n, CopyNodeArgs(source, n));
    const ValueRange results = to_.NewResults(n, node.results.count);
    for (uint32_t i = 0; i < results.count; ++i) {
      const Value value = from_.value(node.results[i]);
      to_.mutable_value(results[i]).type = value.type;
      to_.mutable_value(results[i]).name = value.name;
      map_.values[node.results[i].index] = results[i];
    }
    const GraphId child = node.child.valid() ? Copy(node.child) : node.child;
    const DelegateId delegate =
        node.delegate.valid() ? CopyDelegate(node.delegate) : node.delegate;
    Node& made = to_.mutable_node(n);
    made.single_return = node.single_return;
    made.has_name = node.has_name;
    made.op = node.op;
    made.child = child;
    made.delegate = delegate;
    made.state = node.state;
    made.name = node.name;
    made.form = node.form;
    made.metadata = node.metadata;
    made.region = node.region;
    to_.Append(copy, n);
  }

  const Program& from_;
  Program& to_;
  CloneMap& map_;
  bool same_;
  std::vector<DelegateId> delegates_;
};

}  // namespace

GraphId CloneGraph(const Program& from, GraphId graph, Program* to,
                   CloneMap* map) {
  TENON_ASSERT(from.shared_context() == to->shared_context(),
               "graphs are copied between programs of one context");
  return Cloner(from, to, map).Copy(graph);
}

NodeId ReplaceCall(Program* program, GraphId graph, NodeId call,
                   const std::vector<TypeId>& types) {
  const Node old = program->node(call);
  const NodeId n = program->NewNode(old.kind);
  Node& node = program->mutable_node(n);
  node.child = old.child;
  node.delegate = old.delegate;
  node.name = old.name;
  node.has_name = old.has_name;
  node.metadata = old.metadata;
  node.region = old.region;
  const ArgRange args = program->NewArgs(old.args.count);
  program->SetArgRange(n, args);
  for (uint32_t i = 0; i < old.args.count; ++i) {
    program->CopyArg(old.args[i], args[i], n);
  }
  const ValueRange results =
      program->NewResults(n, static_cast<uint32_t>(types.size()));
  for (uint32_t r = 0; r < results.count; ++r) {
    const bool is_old = r < old.results.count;
    Value& value = program->mutable_value(results[r]);
    value.type = types[r];
    value.name = is_old ? program->value(old.results[r]).name : old.name;
    if (is_old) program->ReplaceAllUses(old.results[r], results[r]);
  }
  program->InsertBefore(graph, call, n);
  program->Erase(graph, call);
  return n;
}

Program ExtractGraph(const Program& program, GraphId graph) {
  Program out(program.shared_context());
  CloneMap map;
  CloneGraph(program, graph, &out, &map);
  out.ranges = program.ranges;
  out.signature.inputs.resize(out.root().inputs.size());
  out.signature.outputs.resize(out.outputs(Program::kRoot).size());
  out.regions = program.regions;
  return out;
}

}  // namespace tenon
