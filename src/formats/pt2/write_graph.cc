#include "formats/pt2/write_graph.h"

#include "formats/json/json_insert.h"
#include "formats/pt2/read_graph.h"
#include "formats/pt2/release.h"

namespace tenon {
namespace {

using namespace schema_minor;

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

std::string_view JsonOf(SingleReturn single_return) {
  switch (single_return) {
    case SingleReturn::kUnstated:
      return "null";
    case SingleReturn::kFalse:
      return "false";
    case SingleReturn::kTrue:
      return "true";
  }
  return {};
}

std::string_view JsonOf(PassKind pass) {
  switch (pass) {
    case PassKind::kUnstated:
      return "null";
    case PassKind::kUnknown:
      return "0";
    case PassKind::kPositional:
      return "1";
    case PassKind::kKeyword:
      return "2";
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
  const size_t start = out->size();
  JsonObjectOut o(out);
  o.Text("target", node.kind == NodeKind::kDelegateCall
                       ? std::string(kDelegateTarget)
                       : Pt2Target(program_.op_name(n)));
  o.Key("inputs");
  TENON_TRY(Inputs(n, out));
  o.Key("outputs");
  TENON_TRY(Outputs(n, out));
  Metadata(n, &o, out);
  if (minor_ >= kPassingKinds) {
    *o.Key("is_hop_single_tensor_return") += JsonOf(node.single_return);
  }
  if (minor_ >= kNodeNames || (node.has_name && minor_ >= kRawRecords)) {
    o.Text("name", names_.node(n));
  }
  o.Close();
  if (node.metadata.valid()) UnknownMembers(node.metadata, start, out);
  return {};
}

// Puts the members that Tenon doesn't know back into the node's record, which
// is all that `out` has from `start` on.
void GraphWriter::UnknownMembers(MetadataId metadata, size_t start,
                                 std::string* out) {
  std::vector<JsonInsertion> insertions;
  for (const auto& [key, text] : program_.context().metadata(metadata)) {
    std::string_view name = program_.view(key);
    if (!name.starts_with(kUnknownMemberKey)) continue;
    name.remove_prefix(kUnknownMemberKey.size());
    JsonInsertion insertion{"$", std::string(name),
                            std::string(program_.view(text))};
    const size_t colon = name.find(':');
    if (name.starts_with(kUnknownMemberPath) &&
        colon != std::string_view::npos) {
      insertion.path = "$." + std::string(name.substr(1, colon - 1));
      insertion.member = name.substr(colon + 1);
    }
    insertions.push_back(std::move(insertion));
  }
  if (insertions.empty()) return;
  if (minor_ < kRawRecords) {
    num_unknown_left_out_ += insertions.size();
    return;
  }
  std::vector<bool> is_done;
  const std::string record = InsertJsonMembers(
      std::string_view(*out).substr(start), insertions, &is_done);
  out->resize(start);
  *out += record;
  for (const bool done : is_done) {
    ++(done ? num_unknown_written_ : num_unknown_left_out_);
  }
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
    if (minor_ >= kPassingKinds) o.Int("kind", 1);
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
    if (minor_ >= kPassingKinds) *o.Key("kind") += JsonOf(arg.pass);
    o.Close();
    ++i;
  }
  array.Close();
  return {};
}

// What the flag says in newer versions: a higher-order operator's tuple of one
// tensor is a list.
bool GraphWriter::ReturnsTupleOfOne(const tenon::Node& node) const {
  if (node.kind != NodeKind::kOp || node.results.count != 1 ||
      node.single_return == SingleReturn::kTrue ||
      !program_.context().op(node.op).is_higher_order ||
      !program_.type(node.results[0]).is_tensor()) {
    return false;
  }
  return !node.form.valid() || program_.context().form(node.form).size() == 1;
}

Status GraphWriter::Outputs(NodeId n, std::string* out) {
  const tenon::Node& node = program_.node(n);
  JsonArrayOut array(out);
  uint32_t next = 0;
  if (minor_ < kPassingKinds && ReturnsTupleOfOne(node)) {
    *array.Item() += "{\"as_tensors\": [";
    Named(node.results[0], out);
    *out += "]}";
    array.Close();
    return {};
  }
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
      types_.AppendFloat(type.real, o.Key("as_float"));
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
