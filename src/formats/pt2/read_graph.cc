#include "formats/pt2/read_graph.h"

#include <charconv>

namespace tenon {
namespace {

// is_hop_single_tensor_return came with the next minor versions.
constexpr int64_t kLastMinorWithoutFlag = 2;

constexpr std::array<JsonMember, 9> kGraph = {
    {{"inputs"},
     {"outputs"},
     {"nodes"},
     {"tensor_values"},
     {"sym_int_values"},
     {"sym_bool_values"},
     {"is_single_tensor_return", false},
     {"custom_obj_values", false},
     {"sym_float_values", false}}};
constexpr std::array<JsonMember, 6> kNode = {
    {{"target"},
     {"inputs"},
     {"outputs"},
     {"metadata"},
     {"is_hop_single_tensor_return", false},
     {"name", false}}};
constexpr std::array<JsonMember, 3> kNamedArgument = {
    {{"name"}, {"arg"}, {"kind", false}}};
constexpr std::array<JsonMember, 1> kName = {{{"name"}}};
constexpr std::array<JsonMember, 2> kObject = {{{"name"}, {"class_fqn"}}};

// The tags of arguments that name one value.
constexpr std::pair<std::string_view, TypeKind> kValueTags[] = {
    {"as_tensor", TypeKind::kTensor},      {"as_sym_int", TypeKind::kSymInt},
    {"as_sym_float", TypeKind::kSymFloat}, {"as_sym_bool", TypeKind::kSymBool},
    {"as_custom_obj", TypeKind::kObject},
};

// kNone for other tags.
TypeKind KindOfTag(std::string_view tag) {
  for (const auto& [name, kind] : kValueTags) {
    if (name == tag) return kind;
  }
  return TypeKind::kNone;
}

bool IsSymbolicTag(std::string_view tag) {
  const TypeKind kind = KindOfTag(tag);
  return kind == TypeKind::kSymInt || kind == TypeKind::kSymFloat ||
         kind == TypeKind::kSymBool;
}

}  // namespace

// Brackets the reading of one graph. A nested graph puts back what it
// overwrote; the outermost one leaves its names for Find.
class GraphReader::Scope {
 public:
  Scope(GraphReader* reader, GraphId g)
      : reader_(*reader),
        outer_(reader->scope_),
        mark_(reader->overwritten_.size()) {
    reader_.scope_ = g.index + 1;
    is_nested_ = reader_.depth_++ > 0;
  }
  ~Scope() {
    --reader_.depth_;
    if (!is_nested_) {
      reader_.overwritten_.clear();
      return;
    }
    while (reader_.overwritten_.size() > mark_) {
      const auto& [name, slot] = reader_.overwritten_.back();
      reader_.slots_[name.index] = slot;
      reader_.overwritten_.pop_back();
    }
    reader_.scope_ = outer_;
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  GraphReader& reader_;
  uint32_t outer_;
  size_t mark_;
  bool is_nested_;
};

GraphReader::GraphReader(
    const JsonInput* json, TypeReader* types, Program* program,
    const std::unordered_map<StringId, DelegateId>* delegates)
    : json_(*json),
      types_(*types),
      program_(*program),
      context_(program->context()),
      delegates_(*delegates),
      typed_names_(&context_.strings),
      input_names_(&context_.strings),
      node_names_(&context_.strings),
      result_names_(&context_.strings),
      used_names_(&context_.strings),
      found_names_(&context_.strings) {}

GraphReader::Slot& GraphReader::Touch(StringId name) {
  if (name.index >= slots_.size()) {
    slots_.resize(std::max<size_t>(context_.strings.size(), 2 * slots_.size()));
  }
  Slot& slot = slots_[name.index];
  if (slot.scope != scope_) {
    // The outermost graph has nothing to put back.
    if (depth_ > 1) overwritten_.emplace_back(name, slot);
    slot = Slot{scope_, TypeId(), ValueId()};
  }
  return slot;
}

const GraphReader::Slot* GraphReader::Look(StringId name) const {
  if (!name.valid() || name.index >= slots_.size()) return nullptr;
  const Slot& slot = slots_[name.index];
  return slot.scope == scope_ ? &slot : nullptr;
}

ValueId GraphReader::Find(std::string_view name) {
  const Slot* slot = Look(found_names_.Find(name));
  return slot == nullptr ? ValueId() : slot->value;
}

OpId GraphReader::Op(std::string_view target) {
  const StringId key = context_.Intern(target);
  const auto it = ops_.find(key);
  if (it != ops_.end()) return it->second;
  const OpId op = context_.InternOp(OpNameOfPt2Target(target));
  ops_.emplace(key, op);
  return op;
}

Status GraphReader::ReadGraph(GraphId g, const JsonElement& e,
                              const JsonPath& path) {
  const Scope scope(this, g);
  TENON_ASSIGN(const auto m, json_.Members(e, path, kGraph));
  ReserveFor(m[2], m[3]);
  TENON_TRY(
      ReadTypes(m[3], JsonPath(path, "tensor_values"), TypeKind::kTensor));
  TENON_TRY(
      ReadTypes(m[4], JsonPath(path, "sym_int_values"), TypeKind::kSymInt));
  TENON_TRY(
      ReadTypes(m[5], JsonPath(path, "sym_bool_values"), TypeKind::kSymBool));
  if (m.has(8)) {
    TENON_TRY(ReadTypes(m[8], JsonPath(path, "sym_float_values"),
                        TypeKind::kSymFloat));
  }
  if (m.has(7)) {
    TENON_TRY(ReadTypes(m[7], JsonPath(path, "custom_obj_values"),
                        TypeKind::kObject));
  }
  if (m.has(6)) {
    TENON_ASSIGN(program_.mutable_graph(g).returns_single,
                 json_.Bool(m[6], JsonPath(path, "is_single_tensor_return")));
  }
  TENON_TRY(ReadInputs(g, m[0], JsonPath(path, "inputs")));
  const JsonPath nodes_path(path, "nodes");
  TENON_ASSIGN(const JsonArray nodes, json_.Array(m[2], nodes_path));
  size_t i = 0;
  for (const auto node : nodes) {
    const JsonPath at(nodes_path, i++);
    if (program_.num_nodes() >= json_.limits().max_nodes) {
      return json_.Error(at)
             << "another node, "
             << BeyondLimit(json_.limits(), &ReadLimits::max_nodes);
    }
    TENON_TRY(ReadNode(g, node, at));
  }
  return ReadOutputs(g, m[1], JsonPath(path, "outputs"));
}

void GraphReader::ReserveFor(const JsonElement& nodes,
                             const JsonElement& tensors) {
  constexpr size_t kArgsPerNode = 3;  // more or less
  JsonArray node_list;
  JsonObject tensor_map;
  if (!nodes.Get(&node_list) || !tensors.Get(&tensor_map)) return;
  const size_t num_nodes =
      std::min<size_t>(node_list.size(), json_.limits().max_nodes);
  program_.Reserve(num_nodes, tensor_map.size(), kArgsPerNode * num_nodes);
  // Names of values and of nodes.
  context_.strings.Reserve(tensor_map.size() + num_nodes);
}

Status GraphReader::ReadTypes(const JsonElement& e, const JsonPath& path,
                              TypeKind kind) {
  TENON_ASSIGN(const JsonObject map, json_.Object(e, path));
  for (const auto field : map) {
    const JsonPath at(path, field.key);
    TypeId type;
    switch (kind) {
      case TypeKind::kTensor: {
        TENON_ASSIGN(type, types_.Tensor(field.value, at));
        break;
      }
      case TypeKind::kSymInt: {
        TENON_ASSIGN(type, types_.SymIntType(field.value, at));
        break;
      }
      case TypeKind::kSymFloat: {
        TENON_ASSIGN(type, types_.SymFloatType(field.value, at));
        break;
      }
      case TypeKind::kSymBool: {
        TENON_ASSIGN(type, types_.SymBoolType(field.value, at));
        break;
      }
      default: {
        TENON_ASSIGN(const auto m, json_.Members(field.value, at, kObject));
        TENON_ASSIGN(const std::string_view class_fqn,
                     json_.String(m[1], JsonPath(at, "class_fqn")));
        Type object;
        object.kind = TypeKind::kObject;
        object.text = context_.Intern(class_fqn);
        type = context_.types.Intern(std::move(object));
      }
    }
    Slot& slot = Touch(typed_names_.Intern(field.key));
    if (slot.type.valid()) {
      return json_.Error(at, Rule::kFile10)
             << "the type of '" << field.key << "' is given twice";
    }
    slot.type = type;
  }
  return {};
}

Status GraphReader::ReadInputs(GraphId g, const JsonElement& e,
                               const JsonPath& path) {
  TENON_ASSIGN(const JsonArray inputs, json_.Array(e, path));
  size_t i = 0;
  for (const auto input : inputs) {
    const JsonPath at(path, i++);
    TENON_ASSIGN(const JsonVariant v, json_.Variant(input, at));
    const JsonPath value_path(at, v.tag);
    TENON_ASSIGN(const std::string_view name, ReadValueName(v, value_path));
    if (name.data() == nullptr) {
      TENON_TRY(DefineLiteralInput(g, i - 1, v, at));
      continue;
    }
    const StringId id = input_names_.Intern(name);
    const Slot* slot = Look(id);
    if (slot == nullptr || !slot->type.valid()) {
      return json_.Error(value_path, Rule::kFile10)
             << "no type of value '" << name << "' in the graph's values";
    }
    TENON_TRY(DefineInput(g, id, slot->type, value_path));
  }
  return {};
}

// Literals have no name of their own.
Status GraphReader::DefineLiteralInput(GraphId g, size_t i,
                                       const JsonVariant& v,
                                       const JsonPath& path) {
  TENON_ASSIGN(Type type, ReadLiteralType(v, path));
  const TypeId literal = context_.types.Intern(std::move(type));
  StringId name;
  if (i < literal_names_.size()) name = literal_names_[i];
  std::string text(context_.view(name));
  if (text.empty()) text = "arg" + std::to_string(i);
  // In nested graphs such names are made up and may be taken.
  name = context_.Intern(text);
  const Slot* slot = Look(name);
  if (slot != nullptr && slot->value.valid()) name = context_.Intern("");
  return DefineInput(g, name, literal, JsonPath(path, v.tag));
}

Expected<std::string_view> GraphReader::ReadValueName(const JsonVariant& v,
                                                      const JsonPath& path) {
  if (v.tag == "as_tensor") {
    TENON_ASSIGN(const auto m, json_.Members(v.value, path, kName));
    return json_.String(m[0], JsonPath(path, "name"));
  }
  if (v.tag == "as_custom_obj") {
    TENON_ASSIGN(const auto m, json_.Members(v.value, path, kObject));
    return json_.String(m[0], JsonPath(path, "name"));
  }
  if (!IsSymbolicTag(v.tag)) return std::string_view();
  TENON_ASSIGN(const JsonVariant choice, json_.Variant(v.value, path));
  if (choice.tag != "as_name") {
    return json_.Error(path) << "tag '" << choice.tag << "', expected as_name";
  }
  return json_.String(choice.value, JsonPath(path, "as_name"));
}

Expected<Type> GraphReader::ReadLiteralType(const JsonVariant& v,
                                            const JsonPath& path) {
  const JsonPath at(path, v.tag);
  Type type;
  if (v.tag == "as_none") {
    type.kind = TypeKind::kNone;
  } else if (v.tag == "as_int") {
    type.kind = TypeKind::kInt;
    TENON_ASSIGN(type.sym.value, json_.Int(v.value, at));
  } else if (v.tag == "as_float") {
    type.kind = TypeKind::kFloat;
    TENON_ASSIGN(type.real, json_.Float(v.value, at));
  } else if (v.tag == "as_bool") {
    type.kind = TypeKind::kBool;
    TENON_ASSIGN(const bool value, json_.Bool(v.value, at));
    type.sym.value = value ? 1 : 0;
  } else if (v.tag == "as_string") {
    type.kind = TypeKind::kString;
    TENON_ASSIGN(const std::string_view text, json_.String(v.value, at));
    type.text = context_.Intern(text);
  } else {
    return json_.Error(path)
           << "tag '" << v.tag << "' can't be an input of a graph";
  }
  return type;
}

Status GraphReader::DefineInput(GraphId g, StringId id, TypeId type,
                                const JsonPath& path) {
  const std::string_view name = context_.view(id);
  if (name.empty()) {
    program_.AddInput(g, type, StringId());
    return {};
  }
  Slot& slot = Touch(id);
  if (slot.value.valid()) {
    return json_.Error(path, Rule::kFile10)
           << "value '" << name << "' is defined twice";
  }
  slot.value = program_.AddInput(g, type, id);
  return {};
}

Status GraphReader::ReadOutputs(GraphId g, const JsonElement& e,
                                const JsonPath& path) {
  TENON_ASSIGN(const JsonArray outputs, json_.Array(e, path));
  const NodeId output = program_.graph(g).output;
  const ArgRange range =
      program_.NewArgs(static_cast<uint32_t>(outputs.size()));
  program_.SetOutputs(g, range);
  size_t i = 0;
  for (const auto item : outputs) {
    TENON_TRY(ReadArg(item, JsonPath(path, i), range[i], output));
    ++i;
  }
  return {};
}

Status GraphReader::ReadNode(GraphId g, const JsonElement& e,
                             const JsonPath& path) {
  Metadata metadata;
  const auto keep = [&](std::string_view name, const JsonElement& value) {
    std::string text;
    AppendJsonElement(value, &text);
    metadata.emplace_back(
        context_.Intern(std::string(kUnknownMemberKey).append(name)),
        context_.Intern(text));
  };
  const size_t first_unknown = program_.file.unknown_members.size();
  TENON_ASSIGN(const auto m, json_.Members(e, path, kNode, keep));
  TENON_ASSIGN(const std::string_view target,
               json_.String(m[0], JsonPath(path, "target")));
  const JsonPath inputs_path(path, "inputs");
  TENON_ASSIGN(const JsonArray inputs, json_.Array(m[1], inputs_path));

  const bool is_delegate_call = target == kDelegateTarget;
  const NodeId n = is_delegate_call ? program_.NewNode(NodeKind::kDelegateCall)
                                    : program_.NewOp(Op(target), StringId());
  if (m.has_value(5)) {
    TENON_ASSIGN(const std::string_view name,
                 json_.String(m[5], JsonPath(path, "name")));
    program_.mutable_node(n).name = node_names_.Intern(name);
    program_.mutable_node(n).has_name = true;
  }
  if (m.has_value(4)) {
    TENON_ASSIGN(
        const bool single,
        json_.Bool(m[4], JsonPath(path, "is_hop_single_tensor_return")));
    program_.mutable_node(n).single_return =
        single ? SingleReturn::kTrue : SingleReturn::kFalse;
  }
  if (is_delegate_call) {
    TENON_TRY(ReadDelegateCall(inputs, inputs_path, n));
  } else {
    const ArgRange args =
        program_.NewArgs(static_cast<uint32_t>(inputs.size()));
    program_.SetArgRange(n, args);
    size_t i = 0;
    for (const auto input : inputs) {
      TENON_TRY(ReadNamedArgument(input, JsonPath(inputs_path, i), args[i], n));
      ++i;
    }
  }
  TENON_TRY(ReadResults(n, m[2], JsonPath(path, "outputs")));
  KeepWithNode(first_unknown, path, &metadata);
  TENON_TRY(
      ReadMetadata(n, m[3], JsonPath(path, "metadata"), std::move(metadata)));
  program_.Append(g, n);
  return {};
}

Status GraphReader::ReadNamedArgument(const JsonElement& e,
                                      const JsonPath& path, ArgId at,
                                      NodeId user) {
  TENON_ASSIGN(const auto m, json_.Members(e, path, kNamedArgument));
  TENON_ASSIGN(const std::string_view name,
               json_.String(m[0], JsonPath(path, "name")));
  PassKind pass = PassKind::kUnstated;
  if (m.has_value(2)) {
    TENON_ASSIGN(const int64_t kind, json_.Int(m[2], JsonPath(path, "kind")));
    if (kind < 0 || kind > 2) {
      return json_.Error(path) << "unknown argument kind " << kind;
    }
    pass = kind == 0   ? PassKind::kUnknown
           : kind == 1 ? PassKind::kPositional
                       : PassKind::kKeyword;
  }
  program_.SetArgLabel(at, context_.Intern(name), pass);
  return ReadArg(m[1], JsonPath(path, "arg"), at, user);
}

// The first input names the delegate, the others are the call's arguments.
Status GraphReader::ReadDelegateCall(const JsonArray& inputs,
                                     const JsonPath& path, NodeId n) {
  const size_t count = inputs.size();
  std::string_view name;
  if (count == 0 || !inputs.at(0)["arg"]["as_string"].Get(&name)) {
    return json_.Error(path) << "a delegate call without its delegate's name";
  }
  const auto it = delegates_.find(context_.strings.Find(name));
  if (it == delegates_.end()) {
    return json_.Error(JsonPath(path, size_t{0}), Rule::kFile10)
           << "no delegate '" << name << "' in this archive";
  }
  program_.mutable_node(n).delegate = it->second;
  const ArgRange args = program_.NewArgs(static_cast<uint32_t>(count - 1));
  program_.SetArgRange(n, args);
  size_t i = 0;
  for (const auto input : inputs) {
    if (i > 0) {
      TENON_TRY(ReadNamedArgument(input, JsonPath(path, i), args[i - 1], n));
      program_.SetArgLabel(args[i - 1], StringId(), PassKind::kPositional);
    }
    ++i;
  }
  return {};
}

Status GraphReader::ReadResults(NodeId n, const JsonElement& e,
                                const JsonPath& path) {
  TENON_ASSIGN(const JsonArray outputs, json_.Array(e, path));
  results_.clear();
  form_.clear();
  size_t i = 0;
  for (const auto output : outputs) {
    const JsonPath at(path, i++);
    TENON_ASSIGN(const JsonVariant v, json_.Variant(output, at));
    const JsonPath value_path(at, v.tag);
    if (v.tag == "as_none") {
      form_.push_back({FormItem::Kind::kNone, 0});
      continue;
    }
    if (v.tag == "as_tensors") {
      TENON_ASSIGN(const JsonArray items, json_.Array(v.value, value_path));
      uint32_t count = 0;
      for (const auto item : items) {
        const JsonPath item_path(value_path, size_t{count++});
        TENON_ASSIGN(const auto m, json_.Members(item, item_path, kName));
        TENON_ASSIGN(const std::string_view name,
                     json_.String(m[0], JsonPath(item_path, "name")));
        TENON_TRY(AddResult(name, TypeKind::kTensor, item_path));
      }
      form_.push_back({FormItem::Kind::kList, count});
      continue;
    }
    TENON_ASSIGN(const std::string_view name, ReadValueName(v, value_path));
    if (name.data() == nullptr) {
      return json_.Error(at)
             << "tag '" << v.tag << "' can't be a result of a node";
    }
    const TypeKind kind = KindOfTag(v.tag);
    TENON_TRY(AddResult(name, kind, value_path));
    form_.push_back({FormItem::Kind::kValue, 0});
  }
  const ValueRange range =
      program_.NewResults(n, static_cast<uint32_t>(results_.size()));
  for (uint32_t k = 0; k < range.count; ++k) {
    Value& value = program_.mutable_value(range[k]);
    value.name = results_[k].name;
    value.type = results_[k].type;
    Slot& slot = Touch(value.name);
    if (slot.value.valid()) {
      return json_.Error(path, Rule::kFile10)
             << "value '" << context_.view(value.name) << "' is defined twice";
    }
    slot.value = range[k];
  }
  if (program_.file.schema_minor <= kLastMinorWithoutFlag) UnifySingleReturn(n);
  program_.mutable_node(n).form = context_.InternForm(form_);
  return {};
}

// Before the flag existed, higher-order operators that return a tuple of one
// tensor were written as a list, those that return a bare tensor as a tensor.
void GraphReader::UnifySingleReturn(NodeId n) {
  Node& node = program_.mutable_node(n);
  if (!node.op.valid() || !context_.op(node.op).is_higher_order ||
      node.single_return != SingleReturn::kUnstated || form_.size() != 1 ||
      node.results.count != 1) {
    return;
  }
  if (form_[0].kind == FormItem::Kind::kList) {
    form_[0] = {FormItem::Kind::kValue, 0};
    node.single_return = SingleReturn::kFalse;
  } else {
    node.single_return = SingleReturn::kTrue;
  }
}

Status GraphReader::AddResult(std::string_view name, TypeKind kind,
                              const JsonPath& path) {
  const StringId id = result_names_.Intern(name);
  const Slot* slot = Look(id);
  if (slot == nullptr || !slot->type.valid()) {
    return json_.Error(path, Rule::kFile10)
           << "no type of value '" << name << "' in the graph's values";
  }
  if (context_.types.get(slot->type).kind != kind) {
    return json_.Error(path, Rule::kFile10)
           << "value '" << name
           << "' has a type of another kind in the graph's values";
  }
  results_.push_back({id, slot->type});
  return {};
}

// Members that nobody knows, of records inside a node, go where the node goes.
void GraphReader::KeepWithNode(size_t first_unknown, const JsonPath& path,
                               Metadata* metadata) {
  auto& unknown = program_.file.unknown_members;
  if (unknown.size() == first_unknown) return;
  const size_t skipped = path.ToString().size() + 1;  // the node's path, a dot
  for (size_t i = first_unknown; i < unknown.size(); ++i) {
    std::string key(kUnknownMemberKey);
    key += kUnknownMemberPath;
    key += unknown[i].path.substr(std::min(skipped, unknown[i].path.size()));
    key += ':';
    key += unknown[i].member;
    metadata->emplace_back(context_.Intern(key),
                           context_.Intern(unknown[i].json));
  }
  unknown.resize(first_unknown);
}

Status GraphReader::ReadMetadata(NodeId n, const JsonElement& e,
                                 const JsonPath& path, Metadata metadata) {
  TENON_ASSIGN(const JsonObject map, json_.Object(e, path));
  for (const auto field : map) {
    const JsonPath at(path, field.key);
    TENON_ASSIGN(const std::string_view text, json_.String(field.value, at));
    if (field.key == kRegionKey) {
      TENON_TRY(ReadRegion(n, text, at));
      continue;
    }
    metadata.emplace_back(context_.Intern(field.key), context_.Intern(text));
  }
  program_.mutable_node(n).metadata =
      context_.InternMetadata(std::move(metadata));
  return {};
}

// "<index>:<name>"; the name is for people.
Status GraphReader::ReadRegion(NodeId n, std::string_view text,
                               const JsonPath& path) {
  uint32_t index = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, index);
  if (error != std::errc() || at == end || *at != ':' ||
      index >= program_.regions.size()) {
    return json_.Error(path, Rule::kFile10)
           << "no region '" << text << "' in this archive";
  }
  program_.mutable_node(n).region = RegionId(index);
  return {};
}

}  // namespace tenon
