#include "formats/pt2/write_graph.h"

#include "formats/pt2/read_graph.h"

namespace tenon {
namespace {

// From this schema minor on, nodes have names of their own.
constexpr int64_t kMinorOfNodeNames = 16;

std::string_view SymTag(TypeKind kind) {
  switch (kind) {
    case TypeKind::kSymInt:
      return "as_sym_int";
    case TypeKind::kSymFloat:
      return "as_sym_float";
    case TypeKind::kSymBool:
      return "as_sym_bool";
    case TypeKind::kTensor:
    case TypeKind::kObject:
    case TypeKind::kNone:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kString:
      break;
  }
  return {};
}

}  // namespace

DiagnosticBuilder GraphWriter::Error() const {
  return diags_.Error(Rule::kUnsupported,
                      Place::Node(program_.Describe(graph_, node_)));
}

Status GraphWriter::Graph(GraphId g, std::string* out) {
  const GraphId outer_graph = graph_;
  const NodeId outer_node = node_;
  graph_ = g;
  const Status status = GraphBody(g, out);
  graph_ = outer_graph;
  node_ = outer_node;
  return status;
}

Status GraphWriter::GraphBody(GraphId g, std::string* out) {
  const tenon::Graph& graph = program_.graph(g);
  node_ = graph.output;
  JsonObjectOut o(out);
  o.Key("inputs");
  JsonArrayOut inputs(out);
  for (const ValueId v : graph.inputs) {
    Reference(v, /*literal_inputs=*/true, inputs.Item());
  }
  inputs.Close();
  o.Key("outputs");
  JsonArrayOut outputs(out);
  for (const Arg& arg : program_.outputs(g)) {
    TENON_TRY(Argument(arg, outputs.Item()));
  }
  outputs.Close();
  o.Key("nodes");
  JsonArrayOut nodes(out);
  for (const NodeId n : program_.nodes(g)) {
    if (n == graph.output) break;
    node_ = n;
    TENON_TRY(Node(g, n, nodes.Item()));
  }
  nodes.Close();
  TypeMap(g, TypeKind::kTensor, o.Key("tensor_values"));
  TypeMap(g, TypeKind::kSymInt, o.Key("sym_int_values"));
  TypeMap(g, TypeKind::kSymBool, o.Key("sym_bool_values"));
  o.Bool("is_single_tensor_return", graph.returns_single);
  TypeMap(g, TypeKind::kObject, o.Key("custom_obj_values"));
  TypeMap(g, TypeKind::kSymFloat, o.Key("sym_float_values"));
  o.Close();
  return {};
}

template <typename Visit>
void GraphWriter::ForEachValue(GraphId g, Visit&& visit) const {
  for (const ValueId v : program_.graph(g).inputs) visit(v);
  for (const NodeId n : program_.nodes(g)) {
    const ValueRange results = program_.node(n).results;
    for (uint32_t i = 0; i < results.count; ++i) visit(results[i]);
  }
}

void GraphWriter::TypeMap(GraphId g, TypeKind kind, std::string* out) {
  JsonObjectOut o(out);
  ForEachValue(g, [&](ValueId v) {
    const Type& type = program_.type(v);
    if (type.kind != kind) return;
    o.Key(names_.value(v));
    if (kind == TypeKind::kTensor) {
      types_.Tensor(type, out);
    } else if (kind == TypeKind::kObject) {
      Object(names_.value(v), type.text, out);
    } else {
      types_.SymScalar(type, out);
    }
  });
  o.Close();
}

Status GraphWriter::Node(GraphId g, NodeId n, std::string* out) {
  const tenon::Node& node = program_.node(n);
  if (node.kind == NodeKind::kChildCall) {
    return diags_.Error(Rule::kUnsupported,
                        Place::Node(program_.Describe(g, n)))
           << "a call of child graph '"
           << program_.view(program_.graph(node.child).name)
           << "' can't be written to a .pt2; join it first";
  }
  JsonObjectOut o(out);
  o.Text("target", node.kind == NodeKind::kDelegateCall
                       ? std::string(kDelegateTarget)
                       : Pt2Target(program_.op_name(n)));
  o.Key("inputs");
  TENON_TRY(Inputs(n, out));
  o.Key("outputs");
  TENON_TRY(Outputs(n, out));
  Metadata(n, &o, out);
  o.Key("is_hop_single_tensor_return");
  switch (node.single_return) {
    case SingleReturn::kUnstated:
      *out += "null";
      break;
    case SingleReturn::kFalse:
      *out += "false";
      break;
    case SingleReturn::kTrue:
      *out += "true";
      break;
  }
  if (node.has_name || program_.file.schema_minor >= kMinorOfNodeNames) {
    o.Text("name", names_.node(n));
  }
  // Members of the record that Tenon doesn't know.
  if (node.metadata.valid()) {
    for (const auto& [key, text] : program_.context().metadata(node.metadata)) {
      const std::string_view name = program_.view(key);
      const std::string_view json = program_.view(text);
      if (name.substr(0, kUnknownMemberKey.size()) == kUnknownMemberKey &&
          IsJson(json)) {
        *o.Key(name.substr(kUnknownMemberKey.size())) += json;
      }
    }
  }
  o.Close();
  return {};
}

void GraphWriter::Metadata(NodeId n, JsonObjectOut* node_record,
                           std::string* out) {
  const tenon::Node& node = program_.node(n);
  node_record->Key("metadata");
  JsonObjectOut o(out);
  if (node.metadata.valid()) {
    for (const auto& [key, text] : program_.context().metadata(node.metadata)) {
      const std::string_view name = program_.view(key);
      if (name.substr(0, kUnknownMemberKey.size()) != kUnknownMemberKey) {
        o.Text(name, program_.view(text));
      }
    }
  }
  if (node.region.valid()) {
    std::string text = std::to_string(node.region.index) + ":";
    text += program_.view(program_.regions[node.region.index].name);
    o.Text(kRegionKey, text);
  }
  o.Close();
}

Status GraphWriter::Inputs(NodeId n, std::string* out) {
  const tenon::Node& node = program_.node(n);
  JsonArrayOut array(out);
  if (node.kind == NodeKind::kDelegateCall) {
    array.Item();
    JsonObjectOut o(out);
    o.Text("name", "delegate");
    *o.Key("arg") += "{\"as_string\": ";
    AppendJsonString(
        program_.view(program_.delegates[node.delegate.index].name), out);
    *out += '}';
    o.Int("kind", 1);
    o.Close();
  }
  size_t i = 0;
  for (const Arg& arg : program_.args(n)) {
    array.Item();
    JsonObjectOut o(out);
    if (node.kind == NodeKind::kDelegateCall) {
      o.Text("name", "input_" + std::to_string(i));
    } else {
      o.Text("name", program_.view(arg.name));
    }
    TENON_TRY(Argument(arg, o.Key("arg")));
    o.Key("kind");
    switch (arg.pass) {
      case PassKind::kUnstated:
        *out += "null";
        break;
      case PassKind::kUnknown:
        *out += '0';
        break;
      case PassKind::kPositional:
        *out += '1';
        break;
      case PassKind::kKeyword:
        *out += '2';
        break;
    }
    o.Close();
    ++i;
  }
  array.Close();
  return {};
}

Status GraphWriter::Outputs(NodeId n, std::string* out) {
  const tenon::Node& node = program_.node(n);
  JsonArrayOut array(out);
  uint32_t next = 0;
  if (!node.form.valid()) {
    for (; next < node.results.count; ++next) {
      TENON_TRY(OutputValue(node.results[next], array.Item()));
    }
    array.Close();
    return {};
  }
  for (const FormItem& item : program_.context().form(node.form)) {
    array.Item();
    switch (item.kind) {
      case FormItem::Kind::kNone:
        *out += "{\"as_none\": true}";
        break;
      case FormItem::Kind::kValue:
        TENON_TRY(OutputValue(node.results[next++], out));
        break;
      case FormItem::Kind::kList: {
        *out += "{\"as_tensors\": ";
        JsonArrayOut list(out);
        for (uint32_t i = 0; i < item.list_size; ++i) {
          Named(node.results[next++], list.Item());
        }
        list.Close();
        *out += '}';
        break;
      }
    }
  }
  array.Close();
  return {};
}

Status GraphWriter::OutputValue(ValueId v, std::string* out) {
  if (program_.type(v).is_literal()) {
    return Error() << "result '" << names_.value(v)
                   << "' is a literal, which no .pt2 can hold as a result";
  }
  Reference(v, /*literal_inputs=*/false, out);
  return {};
}

void GraphWriter::Named(ValueId v, std::string* out) {
  *out += "{\"name\": ";
  AppendJsonString(names_.value(v), out);
  *out += '}';
}

void GraphWriter::Object(std::string_view name, StringId class_fqn,
                         std::string* out) {
  JsonObjectOut o(out);
  o.Text("name", name);
  o.Text("class_fqn", program_.view(class_fqn));
  o.Close();
}

void GraphWriter::Reference(ValueId v, bool literal_inputs, std::string* out) {
  const Type& type = program_.type(v);
  if (literal_inputs && type.is_literal()) {
    Literal(type, out);
    return;
  }
  JsonObjectOut o(out);
  if (type.is_symbolic_scalar()) {
    *o.Key(SymTag(type.kind)) += "{\"as_name\": ";
    AppendJsonString(names_.value(v), out);
    *out += '}';
  } else if (type.kind == TypeKind::kObject) {
    Object(names_.value(v), type.text, o.Key("as_custom_obj"));
  } else {
    Named(v, o.Key("as_tensor"));
  }
  o.Close();
}

void GraphWriter::Literal(const Type& type, std::string* out) {
  JsonObjectOut o(out);
  switch (type.kind) {
    case TypeKind::kInt:
      o.Int("as_int", type.sym.value);
      break;
    case TypeKind::kFloat:
      AppendJsonFloat(type.real, o.Key("as_float"));
      break;
    case TypeKind::kBool:
      o.Bool("as_bool", type.sym.value != 0);
      break;
    case TypeKind::kString:
      o.Text("as_string", program_.view(type.text));
      break;
    case TypeKind::kNone:
    case TypeKind::kTensor:
    case TypeKind::kObject:
    case TypeKind::kSymInt:
    case TypeKind::kSymFloat:
    case TypeKind::kSymBool:
      o.Bool("as_none", true);
      break;
  }
  o.Close();
}

}  // namespace tenon
