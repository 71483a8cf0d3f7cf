// The Argument union: 31 tags, one switch.
#include <limits>

#include "formats/pt2/read_graph.h"
#include "ir/call_binding.h"

namespace tenon {
namespace {

enum class Tag : uint8_t {
  kNone,
  kTensor,
  kTensors,
  kInt,
  kInts,
  kFloat,
  kFloats,
  kString,
  kStrings,
  kSymInt,
  kSymInts,
  kScalarType,
  kMemoryFormat,
  kLayout,
  kDevice,
  kBool,
  kBools,
  kSymBool,
  kSymBools,
  kGraph,
  kOptionalTensors,
  kCustomObj,
  kOperator,
  kSymFloat,
  kSymFloats,
  kOptionalTensor,
  kComplex,
  kNestedTensors,
  kIntLists,
  kStringToArgument,
  kFloatLists,
};

// Frequent ones first.
constexpr std::pair<std::string_view, Tag> kTags[] = {
    {"as_tensor", Tag::kTensor},
    {"as_int", Tag::kInt},
    {"as_ints", Tag::kInts},
    {"as_float", Tag::kFloat},
    {"as_bool", Tag::kBool},
    {"as_none", Tag::kNone},
    {"as_scalar_type", Tag::kScalarType},
    {"as_device", Tag::kDevice},
    {"as_layout", Tag::kLayout},
    {"as_sym_int", Tag::kSymInt},
    {"as_sym_ints", Tag::kSymInts},
    {"as_tensors", Tag::kTensors},
    {"as_memory_format", Tag::kMemoryFormat},
    {"as_string", Tag::kString},
    {"as_floats", Tag::kFloats},
    {"as_strings", Tag::kStrings},
    {"as_bools", Tag::kBools},
    {"as_sym_bool", Tag::kSymBool},
    {"as_sym_bools", Tag::kSymBools},
    {"as_sym_float", Tag::kSymFloat},
    {"as_sym_floats", Tag::kSymFloats},
    {"as_graph", Tag::kGraph},
    {"as_optional_tensors", Tag::kOptionalTensors},
    {"as_optional_tensor", Tag::kOptionalTensor},
    {"as_custom_obj", Tag::kCustomObj},
    {"as_operator", Tag::kOperator},
    {"as_complex", Tag::kComplex},
    {"as_nested_tensors", Tag::kNestedTensors},
    {"as_int_lists", Tag::kIntLists},
    {"as_string_to_argument", Tag::kStringToArgument},
    {"as_float_lists", Tag::kFloatLists},
};

constexpr std::array<JsonMember, 1> kName = {{{"name"}}};
constexpr std::array<JsonMember, 2> kObject = {{{"name"}, {"class_fqn"}}};
constexpr std::array<JsonMember, 2> kGraphArgument = {{{"name"}, {"graph"}}};
constexpr std::array<JsonMember, 2> kComplex = {{{"real"}, {"imag"}}};

}  // namespace

Status GraphReader::ReadArg(const JsonElement& e, const JsonPath& path,
                            ArgId at, NodeId user) {
  TENON_ASSIGN(const JsonVariant variant, json_.Variant(e, path));
  return ReadArgOf(variant, path, at, user);
}

Status GraphReader::ReadLiteral(const JsonElement& e, const JsonPath& path,
                                ArgId at) {
  TENON_TRY(ReadArg(e, path, at, NodeId()));
  if (IsLiteral(program_, program_.arg(at))) return {};
  return json_.Error(path, Rule::kGraph13) << "no literal";
}

template <typename ReadItem>
Status GraphReader::ReadList(const JsonElement& e, const JsonPath& path,
                             ArgId at, ListTag tag, ReadItem&& read_item) {
  TENON_ASSIGN(const JsonArray array, json_.Array(e, path));
  const ArgRange items = program_.NewArgs(static_cast<uint32_t>(array.size()));
  // First the list, so that items are reachable whatever happens to the rest.
  Set(at, Arg::OfList(tag, items));
  size_t i = 0;
  for (const auto item : array) {
    TENON_TRY(read_item(item, JsonPath(path, i), items[i]));
    ++i;
  }
  return {};
}

Status GraphReader::ReadArgOf(const JsonVariant& v, const JsonPath& parent,
                              ArgId at, NodeId user) {
  const JsonPath path(parent, v.tag);
  const JsonElement& e = v.value;
  const auto ints = [this](const JsonElement& item, const JsonPath& p,
                           ArgId a) -> Status {
    TENON_ASSIGN(const int64_t value, json_.Int(item, p));
    Set(a, Arg::Int(value));
    return {};
  };
  const auto floats = [this](const JsonElement& item, const JsonPath& p,
                             ArgId a) -> Status {
    TENON_ASSIGN(const double value, json_.Float(item, p));
    Set(a, Arg::Float(value));
    return {};
  };
  const auto bools = [this](const JsonElement& item, const JsonPath& p,
                            ArgId a) -> Status {
    TENON_ASSIGN(const bool value, json_.Bool(item, p));
    Set(a, Arg::Bool(value));
    return {};
  };
  const auto strings = [this](const JsonElement& item, const JsonPath& p,
                              ArgId a) -> Status {
    TENON_ASSIGN(const std::string_view text, json_.String(item, p));
    Set(a, Arg::String(context_.Intern(text)));
    return {};
  };
  const auto tensors = [this, user](const JsonElement& item, const JsonPath& p,
                                    ArgId a) {
    return ReadNamedValue(item, p, a, user);
  };
  // A union of a name and a literal; `literal` reads the latter.
  const auto sym = [this, user](std::string_view tag, auto& literal) {
    return [this, user, tag, &literal](const JsonElement& item,
                                       const JsonPath& p, ArgId a) -> Status {
      TENON_ASSIGN(const JsonVariant choice, json_.Variant(item, p));
      const JsonPath choice_path(p, choice.tag);
      if (choice.tag == tag) return literal(choice.value, choice_path, a);
      if (choice.tag != "as_name") {
        return json_.Error(p) << "unknown tag '" << choice.tag
                              << "', expected as_name or " << tag;
      }
      TENON_ASSIGN(const std::string_view name,
                   json_.String(choice.value, choice_path));
      return UseValue(name, choice_path, a, user);
    };
  };
  const auto optional_tensors = [this, user](const JsonElement& item,
                                             const JsonPath& p,
                                             ArgId a) -> Status {
    TENON_ASSIGN(const JsonVariant choice, json_.Variant(item, p));
    if (choice.tag == "as_none") {
      Set(a, Arg::None());
      return {};
    }
    if (choice.tag != "as_tensor") {
      return json_.Error(p) << "unknown tag '" << choice.tag
                            << "', expected as_tensor or as_none";
    }
    return ReadNamedValue(choice.value, JsonPath(p, choice.tag), a, user);
  };
  const auto lists = [this](ListTag tag, auto& item_reader) {
    return [this, tag, &item_reader](const JsonElement& item, const JsonPath& p,
                                     ArgId a) {
      return ReadList(item, p, a, tag, item_reader);
    };
  };

  const Tag* tag = nullptr;
  for (const auto& [text, known] : kTags) {
    if (text == v.tag) {
      tag = &known;
      break;
    }
  }
  if (tag == nullptr) {
    return json_.Error(parent) << "unknown tag '" << v.tag << "'";
  }
  switch (*tag) {
    case Tag::kNone:
      Set(at, Arg::None());
      return {};
    case Tag::kTensor:
      return ReadNamedValue(e, path, at, user);
    case Tag::kTensors:
      return ReadList(e, path, at, ListTag::kTensors, tensors);
    case Tag::kInt:
      return ints(e, path, at);
    case Tag::kInts:
      return ReadList(e, path, at, ListTag::kInts, ints);
    case Tag::kFloat:
      return floats(e, path, at);
    case Tag::kFloats:
      return ReadList(e, path, at, ListTag::kFloats, floats);
    case Tag::kString:
      return strings(e, path, at);
    case Tag::kStrings:
      return ReadList(e, path, at, ListTag::kStrings, strings);
    case Tag::kBool:
      return bools(e, path, at);
    case Tag::kBools:
      return ReadList(e, path, at, ListTag::kBools, bools);
    case Tag::kSymInt:
      return sym("as_int", ints)(e, path, at);
    case Tag::kSymInts:
      return ReadList(e, path, at, ListTag::kSymInts, sym("as_int", ints));
    case Tag::kSymFloat:
      return sym("as_float", floats)(e, path, at);
    case Tag::kSymFloats:
      return ReadList(e, path, at, ListTag::kSymFloats,
                      sym("as_float", floats));
    case Tag::kSymBool:
      return sym("as_bool", bools)(e, path, at);
    case Tag::kSymBools:
      return ReadList(e, path, at, ListTag::kSymBools, sym("as_bool", bools));
    case Tag::kScalarType: {
      TENON_ASSIGN(const int64_t code, json_.Int(e, path));
      // UNKNOWN is a legal argument, though no tensor can have it.
      const auto dtype = DTypeFromCode(code);
      if (!dtype) return json_.Error(path) << "unknown dtype " << code;
      Set(at, Arg::Dtype(*dtype));
      return {};
    }
    case Tag::kMemoryFormat: {
      TENON_ASSIGN(const int64_t code, json_.Int(e, path));
      const auto format = MemoryFormatFromCode(code);
      if (!format) return json_.Error(path) << "unknown memory format " << code;
      Set(at, Arg::OfMemoryFormat(*format));
      return {};
    }
    case Tag::kLayout: {
      TENON_ASSIGN(const Layout layout, types_.ReadLayout(e, path));
      Set(at, Arg::OfLayout(layout));
      return {};
    }
    case Tag::kDevice: {
      TENON_ASSIGN(const Device device, types_.ReadDevice(e, path));
      Set(at, Arg::OfDevice(device.type, device.index));
      return {};
    }
    case Tag::kGraph:
      return ReadGraphArg(e, path, at);
    case Tag::kOptionalTensors:
      return ReadList(e, path, at, ListTag::kOptionalTensors, optional_tensors);
    case Tag::kOptionalTensor:
      return optional_tensors(e, path, at);
    case Tag::kCustomObj:
      return ReadObjectArg(e, path, at, user);
    case Tag::kOperator: {
      TENON_ASSIGN(const std::string_view target, json_.String(e, path));
      Set(at, Arg::Operator(Op(target)));
      return {};
    }
    case Tag::kComplex: {
      TENON_ASSIGN(const auto m, json_.Members(e, path, kComplex));
      const ArgRange parts = program_.NewArgs(2);
      TENON_TRY(floats(m[0], JsonPath(path, "real"), parts[0]));
      TENON_TRY(floats(m[1], JsonPath(path, "imag"), parts[1]));
      Arg complex;
      complex.kind = ArgKind::kComplex;
      complex.list = parts;
      Set(at, complex);
      return {};
    }
    case Tag::kNestedTensors:
      return ReadList(e, path, at, ListTag::kNestedTensors,
                      lists(ListTag::kTensors, tensors));
    case Tag::kIntLists:
      return ReadList(e, path, at, ListTag::kIntLists,
                      lists(ListTag::kInts, ints));
    case Tag::kFloatLists:
      return ReadList(e, path, at, ListTag::kFloatLists,
                      lists(ListTag::kFloats, floats));
    case Tag::kStringToArgument:
      return ReadDictArg(e, path, at, user);
  }
  TENON_UNREACHABLE("every tag has a case");
}

Status GraphReader::ReadNamedValue(const JsonElement& e, const JsonPath& path,
                                   ArgId at, NodeId user) {
  TENON_ASSIGN(const auto m, json_.Members(e, path, kName));
  const JsonPath name_path(path, "name");
  TENON_ASSIGN(const std::string_view name, json_.String(m[0], name_path));
  return UseValue(name, path, at, user);
}

StringId GraphReader::UsedName(std::string_view name) {
  // Most nodes take what the one before gives.
  if (!results_.empty() && context_.view(results_[0].name) == name) {
    return results_[0].name;
  }
  return used_names_.Find(name);
}

Status GraphReader::UseValue(std::string_view name, const JsonPath& path,
                             ArgId at, NodeId user) {
  const Slot* slot = Look(UsedName(name));
  if (slot == nullptr || !slot->value.valid()) {
    return json_.Error(path, Rule::kFile10)
           << "value '" << name
           << (slot == nullptr ? "' isn't defined in this graph"
                               : "' is used before its definition");
  }
  program_.SetValueArg(at, user, slot->value);
  return {};
}

Status GraphReader::ReadGraphArg(const JsonElement& e, const JsonPath& path,
                                 ArgId at) {
  TENON_ASSIGN(const auto m, json_.Members(e, path, kGraphArgument));
  TENON_ASSIGN(const std::string_view name,
               json_.String(m[0], JsonPath(path, "name")));
  const GraphId g = program_.AddGraph(name);
  TENON_TRY(ReadGraph(g, m[1], JsonPath(path, "graph")));
  Set(at, Arg::OfGraph(g));
  return {};
}

Status GraphReader::ReadObjectArg(const JsonElement& e, const JsonPath& path,
                                  ArgId at, NodeId user) {
  TENON_ASSIGN(const auto m, json_.Members(e, path, kObject));
  TENON_ASSIGN(const std::string_view name,
               json_.String(m[0], JsonPath(path, "name")));
  TENON_ASSIGN(const std::string_view class_fqn,
               json_.String(m[1], JsonPath(path, "class_fqn")));
  // Lifted objects are inputs; others name a constant of the archive.
  const ValueId value = Find(name);
  if (value.valid()) {
    program_.SetValueArg(at, user, value);
  } else {
    Set(at, Arg::Object(context_.Intern(name), context_.Intern(class_fqn)));
  }
  return {};
}

Status GraphReader::ReadDictArg(const JsonElement& e, const JsonPath& path,
                                ArgId at, NodeId user) {
  TENON_ASSIGN(const JsonObject map, json_.Object(e, path));
  uint32_t count = 0;
  for ([[maybe_unused]] const auto field : map) ++count;
  const ArgRange items = program_.NewArgs(count);
  Arg dict;
  dict.kind = ArgKind::kDict;
  dict.list = items;
  Set(at, dict);
  size_t i = 0;
  for (const auto field : map) {
    program_.SetArgLabel(items[i], context_.Intern(field.key),
                         PassKind::kUnstated);
    TENON_TRY(ReadArg(field.value, JsonPath(path, field.key), items[i], user));
    ++i;
  }
  return {};
}

Expected<ValueId> GraphReader::ReadReference(const JsonElement& argument,
                                             const JsonPath& path) {
  TENON_ASSIGN(const JsonVariant v, json_.Variant(argument, path));
  bool is_known = false;
  for (const auto& [text, tag] : kTags) is_known |= text == v.tag;
  if (!is_known) return json_.Error(path) << "unknown tag '" << v.tag << "'";
  const JsonPath at(path, v.tag);
  std::string_view as_name;
  if (v.tag.starts_with("as_sym_") && !v.value["as_name"].Get(&as_name)) {
    return ValueId();  // a literal, or a list
  }
  TENON_ASSIGN(const std::string_view name, ReadValueName(v, at));
  if (name.data() == nullptr) return ValueId();
  const ValueId value = Find(name);
  if (!value.valid()) {
    return json_.Error(at, Rule::kFile10)
           << "value '" << name << "' isn't defined in this graph";
  }
  return value;
}

}  // namespace tenon
