#include "formats/pt2/read_types.h"

#include <limits>

namespace tenon {
namespace {

constexpr std::array<JsonMember, 7> kTensorMeta = {{{"dtype"},
                                                    {"sizes"},
                                                    {"requires_grad"},
                                                    {"device"},
                                                    {"strides"},
                                                    {"storage_offset"},
                                                    {"layout"}}};
constexpr std::array<JsonMember, 2> kSymExpr = {
    {{"expr_str"}, {"hint", false}}};
constexpr std::array<JsonMember, 2> kDevice = {{{"type"}, {"index", false}}};

}  // namespace

Expected<TypeId> TypeReader::Tensor(const JsonElement& e,
                                    const JsonPath& path) {
  if (!e.is_object()) return ReadTensor(e, path);
  const uint32_t original = e.original();
  Seen& seen = seen_[original % seen_.size()];
  if (seen.original == original && original != 0) return seen.type;
  const size_t num_unknown = json_.num_unknown_members();
  TENON_ASSIGN(const TypeId type, ReadTensor(e, path));
  // A type with members that are to be kept is read again each time.
  if (json_.num_unknown_members() == num_unknown) {
    seen = {original, type};
  }
  return type;
}

Expected<TypeId> TypeReader::ReadTensor(const JsonElement& e,
                                        const JsonPath& path) {
  TENON_ASSIGN(const auto members, json_.Members(e, path, kTensorMeta));
  Type type;
  type.kind = TypeKind::kTensor;
  TENON_ASSIGN(type.dtype, ReadDType(members[0], JsonPath(path, "dtype")));
  TENON_ASSIGN(type.sizes, ReadSymInts(members[1], JsonPath(path, "sizes")));
  TENON_ASSIGN(type.requires_grad,
               json_.Bool(members[2], JsonPath(path, "requires_grad")));
  TENON_ASSIGN(type.device, ReadDevice(members[3], JsonPath(path, "device")));
  TENON_ASSIGN(type.strides,
               ReadSymInts(members[4], JsonPath(path, "strides")));
  TENON_ASSIGN(type.storage_offset,
               ReadSymInt(members[5], JsonPath(path, "storage_offset")));
  TENON_ASSIGN(type.layout, ReadLayout(members[6], JsonPath(path, "layout")));
  if (type.sizes.size() != type.strides.size() &&
      (type.layout == Layout::kStrided || !type.strides.empty())) {
    return json_.Error(path) << type.sizes.size() << " sizes but "
                             << type.strides.size() << " strides";
  }
  return context_.types.Intern(std::move(type));
}

Expected<DType> TypeReader::ReadDType(const JsonElement& e,
                                      const JsonPath& path) {
  TENON_ASSIGN(const int64_t code, json_.Int(e, path));
  const auto dtype = DTypeFromCode(code);
  if (!dtype || *dtype == DType::kUnknown) {
    return json_.Error(path) << "unknown dtype " << code;
  }
  return *dtype;
}

Expected<Layout> TypeReader::ReadLayout(const JsonElement& e,
                                        const JsonPath& path) {
  TENON_ASSIGN(const int64_t code, json_.Int(e, path));
  const auto layout = LayoutFromCode(code);
  if (!layout) return json_.Error(path) << "unknown layout " << code;
  return *layout;
}

Expected<Device> TypeReader::ReadDevice(const JsonElement& e,
                                        const JsonPath& path) {
  TENON_ASSIGN(const auto members, json_.Members(e, path, kDevice));
  Device device;
  TENON_ASSIGN(const std::string_view type,
               json_.String(members[0], JsonPath(path, "type")));
  device.type = context_.Intern(type);
  if (members.has_value(1)) {
    TENON_ASSIGN(const int64_t index,
                 json_.Int(members[1], JsonPath(path, "index")));
    if (index < 0 || index > std::numeric_limits<int32_t>::max()) {
      return json_.Error(path) << "device index " << index;
    }
    device.index = static_cast<int32_t>(index);
  }
  return device;
}

Expected<std::vector<SymInt>> TypeReader::ReadSymInts(const JsonElement& e,
                                                      const JsonPath& path) {
  TENON_ASSIGN(const JsonArray array, json_.Array(e, path));
  std::vector<SymInt> out;
  out.reserve(array.size());
  for (const auto item : array) {
    TENON_ASSIGN(const SymInt value,
                 ReadSymInt(item, JsonPath(path, out.size())));
    out.push_back(value);
  }
  return out;
}

Expected<SymInt> TypeReader::ReadSymInt(const JsonElement& e,
                                        const JsonPath& path) {
  TENON_ASSIGN(const JsonVariant variant, json_.Variant(e, path));
  const JsonPath at(path, variant.tag);
  if (variant.tag == "as_int") {
    TENON_ASSIGN(const int64_t value, json_.Int(variant.value, at));
    return SymInt::Literal(value);
  }
  if (variant.tag != "as_expr") {
    return json_.Error(path)
           << "unknown tag '" << variant.tag << "', expected as_int or as_expr";
  }
  TENON_ASSIGN(const SymExpr expr, ReadSymExpr(variant.value, at, "as_int"));
  if (!expr.has_hint) return SymInt::Symbolic(expr.expr, std::nullopt);
  TENON_ASSIGN(const int64_t hint, json_.Int(expr.hint, JsonPath(at, "hint")));
  return SymInt::Symbolic(expr.expr, hint);
}

Expected<TypeReader::SymExpr> TypeReader::ReadSymExpr(const JsonElement& e,
                                                      const JsonPath& path,
                                                      std::string_view tag) {
  TENON_ASSIGN(const auto members, json_.Members(e, path, kSymExpr));
  const JsonPath text_path(path, "expr_str");
  TENON_ASSIGN(const std::string_view text,
               json_.String(members[0], text_path));
  SymExpr out;
  TENON_ASSIGN(out.expr, Expression(text, text_path));
  if (!members.has_value(1)) return out;
  const JsonPath hint_path(path, "hint");
  TENON_ASSIGN(const JsonVariant hint, json_.Variant(members[1], hint_path));
  if (hint.tag != tag) {
    return json_.Error(hint_path)
           << "tag '" << hint.tag << "', expected " << tag;
  }
  out.has_hint = true;
  out.hint = hint.value;
  return out;
}

Expected<ExprId> TypeReader::Expression(std::string_view text,
                                        const JsonPath& path) {
  std::string key(text);
  const auto it = symbols_.parsed.find(key);
  if (it != symbols_.parsed.end()) return it->second;
  if (text.size() > json_.limits().max_expression_bytes) {
    return json_.Error(path)
           << "an expression of " << text.size() << " bytes, "
           << BeyondLimit(json_.limits(), &ReadLimits::max_expression_bytes);
  }
  std::string error;
  size_t at = 0;
  const auto expr = context_.exprs.Parse(text, &symbols_.symbols, &error, &at);
  if (!expr) {
    return json_.Error(path)
           << "symbolic expression, at its byte " << at << ": " << error;
  }
  symbols_.parsed.emplace(std::move(key), *expr);
  return *expr;
}

Expected<TypeId> TypeReader::SymIntType(const JsonElement& e,
                                        const JsonPath& path) {
  Type type;
  type.kind = TypeKind::kSymInt;
  TENON_ASSIGN(type.sym, ReadSymInt(e, path));
  return context_.types.Intern(std::move(type));
}

Expected<TypeId> TypeReader::SymFloatType(const JsonElement& e,
                                          const JsonPath& path) {
  TENON_ASSIGN(const JsonVariant variant, json_.Variant(e, path));
  const JsonPath at(path, variant.tag);
  Type type;
  type.kind = TypeKind::kSymFloat;
  if (variant.tag == "as_float") {
    TENON_ASSIGN(type.real, json_.Float(variant.value, at));
  } else if (variant.tag == "as_expr") {
    TENON_ASSIGN(const SymExpr expr,
                 ReadSymExpr(variant.value, at, "as_float"));
    type.sym.expr = expr.expr;
    type.sym.has_hint = expr.has_hint;
    if (expr.has_hint) {
      TENON_ASSIGN(type.real, json_.Float(expr.hint, JsonPath(at, "hint")));
    }
  } else {
    return json_.Error(path) << "unknown tag '" << variant.tag
                             << "', expected as_float or as_expr";
  }
  return context_.types.Intern(std::move(type));
}

Expected<TypeId> TypeReader::SymBoolType(const JsonElement& e,
                                         const JsonPath& path) {
  TENON_ASSIGN(const JsonVariant variant, json_.Variant(e, path));
  const JsonPath at(path, variant.tag);
  Type type;
  type.kind = TypeKind::kSymBool;
  if (variant.tag == "as_bool") {
    TENON_ASSIGN(const bool value, json_.Bool(variant.value, at));
    type.sym.value = value ? 1 : 0;
  } else if (variant.tag == "as_expr") {
    TENON_ASSIGN(const SymExpr expr, ReadSymExpr(variant.value, at, "as_bool"));
    type.sym.expr = expr.expr;
    type.sym.has_hint = expr.has_hint;
    if (expr.has_hint) {
      TENON_ASSIGN(const bool hint,
                   json_.Bool(expr.hint, JsonPath(at, "hint")));
      type.sym.value = hint ? 1 : 0;
    }
  } else {
    return json_.Error(path) << "unknown tag '" << variant.tag
                             << "', expected as_bool or as_expr";
  }
  return context_.types.Intern(std::move(type));
}

}  // namespace tenon
