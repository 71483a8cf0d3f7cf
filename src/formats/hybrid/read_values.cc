// Values as nodes mention them: references, literals, structures; and how they
// become arguments.
#include <algorithm>
#include <limits>

#include "formats/hybrid/node_members.h"

namespace tenon::hybrid {
namespace {

constexpr std::array<JsonMember, 8> kNode = {{{"op"},
                                              {"name", false},
                                              {"target", false},
                                              {"args", false},
                                              {"kwargs", false},
                                              {"of", false},
                                              {"val", false},
                                              {"meta", false}}};

}  // namespace

Expected<GraphReader::NodeMembers> GraphReader::NodeMembers::Read(
    const JsonInput& json, const JsonElement& node, const JsonPath& path) {
  TENON_ASSIGN(const auto m, json.Members(node, path, kNode));
  NodeMembers out;
  TENON_ASSIGN(out.op, json.String(m[0], JsonPath(path, "op")));
  if (m.has_value(1)) {
    TENON_ASSIGN(out.name, json.String(m[1], JsonPath(path, "name")));
  } else if (out.op != "output") {
    return json.Error(path) << "no member 'name'";
  }
  if (m.has_value(2)) {
    TENON_ASSIGN(out.target, json.String(m[2], JsonPath(path, "target")));
    out.has_target = true;
  }
  if (m.has_value(5)) {
    TENON_ASSIGN(out.of, json.String(m[5], JsonPath(path, "of")));
  }
  out.has_args = m.has_value(3);
  out.has_kwargs = m.has_value(4);
  out.has_val = m.has_value(6);
  out.has_meta = m.has_value(7);
  if (out.has_args) out.args = m[3];
  if (out.has_kwargs) out.kwargs = m[4];
  if (out.has_val) out.val = m[6];
  if (out.has_meta) out.meta = m[7];
  return out;
}

Expected<std::vector<Item>> GraphReader::ReadArgs(Scope* scope,
                                                  const NodeMembers& m,
                                                  const JsonPath& path) {
  if (!m.has_args) return std::vector<Item>();
  return ReadAll(scope, m.args, JsonPath(path, "args"));
}

Expected<std::vector<Item>> GraphReader::ReadAll(Scope* scope,
                                                 const JsonElement& list,
                                                 const JsonPath& path) {
  TENON_ASSIGN(const JsonArray array, json_.Array(list, path));
  std::vector<Item> out;
  for (const auto v : array) {
    TENON_ASSIGN(Item item, Read(scope, v, JsonPath(path, out.size())));
    out.push_back(std::move(item));
  }
  return out;
}

Expected<std::vector<std::pair<std::string_view, Item>>>
GraphReader::ReadKeywords(Scope* scope, const NodeMembers& m,
                          const JsonPath& path) {
  std::vector<std::pair<std::string_view, Item>> out;
  if (!m.has_kwargs) return out;
  const JsonPath kwargs_path(path, "kwargs");
  TENON_ASSIGN(const JsonArray array, json_.Array(m.kwargs, kwargs_path));
  for (const auto pair : array) {
    const JsonPath at(kwargs_path, out.size());
    TENON_ASSIGN(const JsonArray parts, json_.Array(pair, at));
    if (parts.size() != 2) return json_.Error(at) << "expected [key, value]";
    TENON_ASSIGN(const std::string_view key,
                 json_.String(parts.at(0), JsonPath(at, size_t{0})));
    TENON_ASSIGN(Item item, Read(scope, parts.at(1), JsonPath(at, size_t{1})));
    out.emplace_back(key, std::move(item));
  }
  return out;
}

Expected<Item> GraphReader::Read(Scope* scope, const JsonElement& v,
                                 const JsonPath& path) {
  TENON_ASSIGN(const JsonVariant variant, json_.Variant(v, path));
  const JsonPath at(path, variant.tag);
  if (variant.tag == "ref") {
    TENON_ASSIGN(const std::string_view name, json_.String(variant.value, at));
    const auto found = scope->names.find(name);
    if (found != scope->names.end()) return found->second;
    return json_.Error(at, Rule::kFile10)
           << "'" << name << "' isn't defined before it in its graph";
  }
  if (variant.tag == "i") {
    TENON_ASSIGN(const int64_t i, json_.Int(variant.value, at));
    return Item(Arg::Int(i));
  }
  if (variant.tag == "f") {
    std::string_view text;
    if (variant.value.Get(&text)) {
      const double inf = std::numeric_limits<double>::infinity();
      if (text == "inf") return Item(Arg::Float(inf));
      if (text == "-inf") return Item(Arg::Float(-inf));
      if (text == "nan") {
        return Item(Arg::Float(std::numeric_limits<double>::quiet_NaN()));
      }
    }
    TENON_ASSIGN(const double f, json_.Float(variant.value, at));
    return Item(Arg::Float(f));
  }
  if (variant.tag == "b") {
    TENON_ASSIGN(const bool b, json_.Bool(variant.value, at));
    return Item(Arg::Bool(b));
  }
  if (variant.tag == "s") {
    TENON_ASSIGN(const std::string_view s, json_.String(variant.value, at));
    return Item(Arg::String(context_.Intern(s)));
  }
  if (variant.tag == "n") return Item(Arg::None());
  if (variant.tag == "t") {
    TENON_ASSIGN(const std::string_view key, json_.String(variant.value, at));
    TENON_ASSIGN(const StateId state, state_.Literal(key, at));
    return Item::Value(GetState(scope, state));
  }
  if (variant.tag == "list" || variant.tag == "tuple" ||
      variant.tag == "slice") {
    TENON_ASSIGN(std::vector<Item> items, ReadAll(scope, variant.value, at));
    if (variant.tag == "slice" && items.size() != 3) {
      return json_.Error(at) << "a slice has start, stop, step";
    }
    return Item::Structure(variant.tag == "list"    ? Item::Kind::kList
                           : variant.tag == "tuple" ? Item::Kind::kTuple
                                                    : Item::Kind::kSlice,
                           std::move(items));
  }
  if (variant.tag == "dict") return ReadKeyed(scope, variant, at);
  return ReadName(variant, path);
}

Expected<Item> GraphReader::ReadKeyed(Scope* scope, const JsonVariant& v,
                                      const JsonPath& path) {
  TENON_ASSIGN(const JsonArray array, json_.Array(v.value, path));
  Item out = Item::Structure(Item::Kind::kDict, {});
  for (const auto pair : array) {
    const JsonPath at(path, out.items.size());
    TENON_ASSIGN(const JsonArray parts, json_.Array(pair, at));
    if (parts.size() != 2) return json_.Error(at) << "expected [key, value]";
    TENON_ASSIGN(const std::string_view key,
                 json_.String(parts.at(0), JsonPath(at, size_t{0})));
    const StringId id = context_.Intern(key);
    if (std::find(out.keys.begin(), out.keys.end(), id) != out.keys.end()) {
      return json_.Error(at) << "key '" << key << "' is there twice";
    }
    TENON_ASSIGN(Item item, Read(scope, parts.at(1), JsonPath(at, size_t{1})));
    out.keys.push_back(id);
    out.items.push_back(std::move(item));
  }
  return out;
}

Expected<Item> GraphReader::ReadName(const JsonVariant& v,
                                     const JsonPath& path) {
  const JsonPath at(path, v.tag);
  TENON_ASSIGN(const std::string_view name, json_.String(v.value, at));
  if (v.tag == "device") {
    TENON_ASSIGN(const Device device,
                 ReadDevice(json_, v.value, at, &context_));
    return Item(Arg::OfDevice(device.type, device.index));
  }
  if (v.tag == "dtype") {
    if (const auto dtype = FindDType(name)) return Item(Arg::Dtype(*dtype));
  } else if (v.tag == "layout") {
    if (const auto layout = FindLayout(name)) {
      return Item(Arg::OfLayout(*layout));
    }
  } else if (v.tag == "memory_format") {
    if (const auto format = FindMemoryFormat(name)) {
      return Item(Arg::OfMemoryFormat(*format));
    }
  } else {
    return json_.Error(path) << "unknown kind of value '" << v.tag << "'";
  }
  return json_.Error(at) << "unknown " << v.tag << " '" << name << "'";
}

ListTag GraphReader::TagOf(const Item& list, const SchemaArg* parameter) const {
  bool has_value = false, has_none = false, has_list = false;
  bool has_float = false, has_bool = false, has_string = false;
  bool has_tensor = false, has_int = false;
  const auto look = [&](const Arg& arg) {
    if (arg.is_value()) {
      has_value = true;
      has_tensor = has_tensor || program_.type(arg.v.value).is_tensor();
    }
    has_none = has_none || arg.kind == ArgKind::kNone;
    has_int = has_int || arg.kind == ArgKind::kInt;
    has_float = has_float || arg.kind == ArgKind::kFloat;
    has_bool = has_bool || arg.kind == ArgKind::kBool;
    has_string = has_string || arg.kind == ArgKind::kString;
  };
  for (const Item& item : list.items) has_list = has_list || !item.is_leaf();
  ForEachLeaf(list, look);
  const bool wants_tensors =
      has_tensor || has_none ||
      (parameter != nullptr && parameter->type == SchemaType::kTensor);
  if (has_list) {
    return wants_tensors ? ListTag::kNestedTensors
           : has_float   ? ListTag::kFloatLists
                         : ListTag::kIntLists;
  }
  if (wants_tensors) {
    return has_none ? ListTag::kOptionalTensors : ListTag::kTensors;
  }
  if (has_string) return ListTag::kStrings;
  if (has_bool && !has_int) {
    return has_value ? ListTag::kSymBools : ListTag::kBools;
  }
  if (has_float) return has_value ? ListTag::kSymFloats : ListTag::kFloats;
  if (has_value) return ListTag::kSymInts;
  if (!has_int && parameter != nullptr) {
    if (parameter->type == SchemaType::kFloat) return ListTag::kFloats;
    if (parameter->type == SchemaType::kBool) return ListTag::kBools;
    if (parameter->type == SchemaType::kString) return ListTag::kStrings;
  }
  return ListTag::kInts;
}

Status GraphReader::Store(Scope* scope, NodeId user, ArgId at, const Item& item,
                          const SchemaArg* parameter, const JsonPath& path) {
  switch (item.kind) {
    case Item::Kind::kLeaf:
      if (item.is_value()) {
        program_.SetValueArg(at, user, item.arg.v.value);
      } else {
        program_.SetArg(at, item.arg, /*keep_label=*/true);
      }
      return {};
    case Item::Kind::kTuple:
    case Item::Kind::kList: {
      const ArgRange range =
          program_.NewArgs(static_cast<uint32_t>(item.items.size()));
      program_.SetArg(at, Arg::OfList(TagOf(item, parameter), range),
                      /*keep_label=*/true);
      for (uint32_t i = 0; i < range.count; ++i) {
        TENON_TRY(Store(scope, user, range[i], item.items[i], parameter, path));
      }
      return {};
    }
    case Item::Kind::kDict: {
      const ArgRange range =
          program_.NewArgs(static_cast<uint32_t>(item.items.size()));
      Arg dict;
      dict.kind = ArgKind::kDict;
      dict.list = range;
      program_.SetArg(at, dict, /*keep_label=*/true);
      for (uint32_t i = 0; i < range.count; ++i) {
        program_.SetArgLabel(range[i], item.keys[i], PassKind::kUnstated);
        TENON_TRY(Store(scope, user, range[i], item.items[i], nullptr, path));
      }
      return {};
    }
    case Item::Kind::kSlice:
    case Item::Kind::kModule:
      break;
  }
  return json_.Error(path, Rule::kOp05)
         << "a " << (item.kind == Item::Kind::kSlice ? "slice" : "graph")
         << " is no argument of an operator";
}

}  // namespace tenon::hybrid
