#include "formats/hybrid/types.h"

namespace tenon::hybrid {
namespace {

constexpr std::array<JsonMember, 4> kTensor = {
    {{"dtype"}, {"shape"}, {"stride", false}, {"device", false}}};
constexpr std::array<JsonMember, 2> kScalar = {{{"sym"}, {"type"}}};
constexpr std::array<JsonMember, 1> kConstant = {{{"const"}}};
constexpr std::array<JsonMember, 4> kDim = {
    {{"label", false}, {"min", false}, {"max", false}, {"hint", false}}};

}  // namespace

Expected<Device> ReadDevice(const JsonInput& json, const JsonElement& e,
                            const JsonPath& path, Context* context) {
  TENON_ASSIGN(std::string_view name, json.String(e, path));
  Device device;
  const size_t colon = name.find(':');
  if (colon != std::string_view::npos) {
    const std::string digits(name.substr(colon + 1));
    if (digits.empty() || digits.size() > 4 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      return json.Error(path) << "'" << name << "' is no device";
    }
    device.index = std::stoi(digits);
    name = name.substr(0, colon);
  }
  device.type = context->Intern(name);
  return device;
}

Status Types::SetTable(const JsonElement& table, const JsonPath& path) {
  TENON_ASSIGN(const JsonArray array, json_.Array(table, path));
  for (const auto stated : array) table_.push_back({stated, TypeId()});
  return {};
}

const JsonElement* Types::Resolve(const JsonElement& val) const {
  if (!val.is(JsonKind::kInt)) return &val;
  int64_t i;
  if (!val.Get(&i) || static_cast<uint64_t>(i) >= table_.size()) return nullptr;
  return &table_[static_cast<size_t>(i)].stated;
}

Expected<TypeId> Types::ReadNamed(const JsonElement& position,
                                  const JsonPath& path) {
  TENON_ASSIGN(const int64_t i, json_.Int(position, path));
  if (i < 0 || static_cast<uint64_t>(i) >= table_.size()) {
    return json_.Error(path) << "type " << i << " of " << table_.size();
  }
  Entry& entry = table_[static_cast<size_t>(i)];
  if (!entry.type.valid()) {
    const JsonPath root;
    const JsonPath types(root, "types");
    TENON_ASSIGN(
        entry.type,
        ReadTensor(entry.stated, JsonPath(types, static_cast<size_t>(i))));
  }
  return entry.type;
}

Status Types::ReadSymbols(const JsonElement& dims, const JsonPath& path) {
  TENON_ASSIGN(const JsonObject object, json_.Object(dims, path));
  ExprPool& exprs = program_.context().exprs;
  for (const auto field : object) {
    const JsonPath at(path, field.key);
    TENON_ASSIGN(const auto m, json_.Members(field.value, at, kDim));
    SymbolRange range;
    range.key = std::string(field.key);
    range.expr = exprs.Symbol(field.key, "positive=True, integer=True");
    if (m.has_value(1)) {
      TENON_ASSIGN(range.min, json_.Int(m[1], JsonPath(at, "min")));
    }
    if (m.has_value(2)) {
      TENON_ASSIGN(range.max, json_.Int(m[2], JsonPath(at, "max")));
    }
    if (m.has_value(3)) {
      TENON_ASSIGN(const int64_t hint, json_.Int(m[3], JsonPath(at, "hint")));
      SetHint(range.expr, hint);
    }
    if (!scope_.emplace(range.key, range.expr).second) {
      return json_.Error(at, Rule::kSym02) << "the symbol is there twice";
    }
    program_.ranges.push_back(std::move(range));
  }
  return {};
}

Expected<SymInt> Types::ReadSize(const JsonElement& e, const JsonPath& path) {
  if (e.is(JsonKind::kInt)) {
    TENON_ASSIGN(const int64_t value, json_.Int(e, path));
    return SymInt::Literal(value);
  }
  TENON_ASSIGN(const std::string_view text, json_.String(e, path));
  if (text.size() > json_.limits().max_expression_bytes) {
    return json_.Error(path, Rule::kSym05)
           << "an expression of " << text.size() << " bytes, "
           << BeyondLimit(json_.limits(), &ReadLimits::max_expression_bytes);
  }
  ExprPool& exprs = program_.context().exprs;
  std::string error;
  size_t at = 0;
  const auto expr = exprs.Parse(text, &scope_, &error, &at);
  if (!expr) {
    return json_.Error(path, Rule::kSym05)
           << "'" << text << "' at byte " << at << ": " << error;
  }
  const auto hint =
      exprs.EvaluateInt(*expr, [&](ExprId s) -> std::optional<int64_t> {
        const auto found = hints_.find(s);
        if (found == hints_.end()) return std::nullopt;
        return found->second;
      });
  return SymInt::Symbolic(*expr, hint);
}

Type Types::Contiguous(Program* program, DType dtype,
                       std::vector<SymInt> sizes) {
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = dtype;
  type.device.type = program->context().Intern("cpu");
  type.strides.resize(sizes.size());
  ExprPool& exprs = program->context().exprs;
  SymInt step = SymInt::Literal(1);
  const auto as_expr = [&](const SymInt& s) {
    return s.is_literal() ? exprs.Integer(s.value) : s.expr;
  };
  for (size_t d = sizes.size(); d-- > 0;) {
    type.strides[d] = step;
    const SymInt& size = sizes[d];
    if (step.is_literal() && size.is_literal()) {
      step.value *= std::max<int64_t>(size.value, 1);
    } else if (step.is_literal() && step.value == 1) {
      step = size;
    } else {
      step = SymInt::Symbolic(exprs.Call("Mul", {as_expr(step), as_expr(size)}),
                              size.value * step.value);
    }
  }
  type.sizes = std::move(sizes);
  return type;
}

Expected<TypeId> Types::Read(const JsonElement& val, const JsonPath& path) {
  if (val.is(JsonKind::kInt)) return ReadNamed(val, path);
  TENON_ASSIGN(const JsonObject object, json_.Object(val, path));
  if (object["dtype"].valid()) {
    return ReadTensor(val, path);
  }
  if (object["sym"].valid()) {
    return ReadScalar(val, path);
  }
  return ReadConstant(val, path);
}

Expected<TypeId> Types::ReadTensor(const JsonElement& val,
                                   const JsonPath& path) {
  TENON_ASSIGN(const auto m, json_.Members(val, path, kTensor));
  TENON_ASSIGN(const std::string_view name,
               json_.String(m[0], JsonPath(path, "dtype")));
  const auto dtype = FindDType(name);
  if (!dtype) {
    return json_.Error(JsonPath(path, "dtype"))
           << "unknown dtype '" << name << "'";
  }
  const JsonPath shape_path(path, "shape");
  TENON_ASSIGN(const JsonArray shape, json_.Array(m[1], shape_path));
  std::vector<SymInt> sizes;
  for (const auto size : shape) {
    TENON_ASSIGN(const SymInt s,
                 ReadSize(size, JsonPath(shape_path, sizes.size())));
    sizes.push_back(s);
  }
  Device device = {program_.context().Intern("cpu")};
  if (m.has_value(3)) {
    TENON_ASSIGN(device, ReadDevice(json_, m[3], JsonPath(path, "device"),
                                    &program_.context()));
  }
  if (!m.has_value(2)) {
    Type type = Contiguous(&program_, *dtype, std::move(sizes));
    type.device = device;
    return program_.context().types.Intern(std::move(type));
  }
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = *dtype;
  type.device = device;
  type.sizes = std::move(sizes);
  const JsonPath stride_path(path, "stride");
  TENON_ASSIGN(const JsonArray strides, json_.Array(m[2], stride_path));
  for (const auto stride : strides) {
    TENON_ASSIGN(const SymInt s,
                 ReadSize(stride, JsonPath(stride_path, type.strides.size())));
    type.strides.push_back(s);
  }
  if (type.strides.size() != type.sizes.size()) {
    return json_.Error(stride_path, Rule::kType01)
           << type.strides.size() << " strides for " << type.sizes.size()
           << " sizes";
  }
  return program_.context().types.Intern(std::move(type));
}

Expected<TypeId> Types::ReadScalar(const JsonElement& val,
                                   const JsonPath& path) {
  TENON_ASSIGN(const auto m, json_.Members(val, path, kScalar));
  TENON_ASSIGN(const std::string_view name,
               json_.String(m[1], JsonPath(path, "type")));
  Type type;
  if (name == "SymInt" || name == "int") {
    type.kind = TypeKind::kSymInt;
  } else if (name == "SymFloat" || name == "float") {
    type.kind = TypeKind::kSymFloat;
  } else if (name == "SymBool" || name == "bool") {
    type.kind = TypeKind::kSymBool;
  } else {
    return json_.Error(JsonPath(path, "type"))
           << "unknown scalar type '" << name << "'";
  }
  TENON_ASSIGN(type.sym, ReadSize(m[0], JsonPath(path, "sym")));
  return program_.context().types.Intern(std::move(type));
}

Expected<TypeId> Types::ReadConstant(const JsonElement& val,
                                     const JsonPath& path) {
  TENON_ASSIGN(const auto m, json_.Members(val, path, kConstant));
  const JsonPath at(path, "const");
  Type type;
  if (m[0].is_null()) {
    type.kind = TypeKind::kNone;
  } else if (m[0].is(JsonKind::kBool)) {
    type.kind = TypeKind::kBool;
    TENON_ASSIGN(const bool value, json_.Bool(m[0], at));
    type.sym.value = value ? 1 : 0;
  } else if (m[0].is(JsonKind::kInt)) {
    type.kind = TypeKind::kInt;
    TENON_ASSIGN(type.sym.value, json_.Int(m[0], at));
  } else if (m[0].is(JsonKind::kFloat)) {
    type.kind = TypeKind::kFloat;
    TENON_ASSIGN(type.real, json_.Float(m[0], at));
  } else {
    TENON_ASSIGN(const std::string_view text, json_.String(m[0], at));
    type.kind = TypeKind::kString;
    type.text = program_.context().Intern(text);
  }
  return program_.context().types.Intern(std::move(type));
}

}  // namespace tenon::hybrid
