#include "formats/pt2/write_types.h"

#include <cmath>

#include "formats/json/json_output.h"
#include "formats/pt2/release.h"
#include "support/assert.h"

namespace tenon {

void TypeWriter::Tensor(const Type& type, std::string* out) {
  JsonObjectOut o(out);
  o.Int("dtype", Code(type.dtype));
  o.Key("sizes");
  JsonArrayOut sizes(out);
  for (const SymInt& size : type.sizes) AppendSymInt(size, sizes.Item());
  sizes.Close();
  o.Bool("requires_grad", type.requires_grad);
  AppendDevice(type.device.type, type.device.index, o.Key("device"));
  o.Key("strides");
  JsonArrayOut strides(out);
  for (const SymInt& stride : type.strides) {
    AppendSymInt(stride, strides.Item());
  }
  strides.Close();
  AppendSymInt(type.storage_offset, o.Key("storage_offset"));
  o.Int("layout", Code(type.layout));
  o.Close();
}

void TypeWriter::AppendDevice(StringId type, int32_t index, std::string* out) {
  JsonObjectOut o(out);
  o.Text("type", context_.view(type));
  if (index >= 0) {
    o.Int("index", index);
  } else if (minor_ >= schema_minor::kPassingKinds) {
    *o.Key("index") += "null";
  }
  o.Close();
}

// Before there were strings for them, non-finite numbers were Python's bare
// words; whoever reads such a file takes a string for a string.
void TypeWriter::AppendFloat(double value, std::string* out) const {
  if (minor_ >= schema_minor::kPassingKinds || std::isfinite(value)) {
    AppendJsonFloat(value, out);
  } else if (std::isnan(value)) {
    *out += "NaN";
  } else {
    *out += value > 0 ? "Infinity" : "-Infinity";
  }
}

void TypeWriter::AppendSymInt(const SymInt& value, std::string* out) {
  if (!value.is_literal()) {
    std::string hint = "null";
    if (value.has_hint) {
      hint = "{\"as_int\": " + std::to_string(value.value) + "}";
    }
    AppendExpr(value.expr, hint, out);
    return;
  }
  *out += "{\"as_int\": ";
  AppendJsonInt(value.value, out);
  *out += '}';
}

void TypeWriter::SymScalar(const Type& type, std::string* out) {
  switch (type.kind) {
    case TypeKind::kSymInt:
      AppendSymInt(type.sym, out);
      return;
    case TypeKind::kSymFloat: {
      std::string real;
      AppendFloat(type.real, &real);
      if (!type.sym.expr.valid()) {
        *out += "{\"as_float\": " + real + "}";
        return;
      }
      AppendExpr(type.sym.expr,
                 type.sym.has_hint ? "{\"as_float\": " + real + "}" : "null",
                 out);
      return;
    }
    case TypeKind::kSymBool: {
      const std::string truth = type.sym.value != 0 ? "true" : "false";
      if (!type.sym.expr.valid()) {
        *out += "{\"as_bool\": " + truth + "}";
        return;
      }
      AppendExpr(type.sym.expr,
                 type.sym.has_hint ? "{\"as_bool\": " + truth + "}" : "null",
                 out);
      return;
    }
    case TypeKind::kTensor:
    case TypeKind::kObject:
    case TypeKind::kNone:
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kString:
      break;
  }
  TENON_UNREACHABLE("only symbolic scalars have such a record");
}

void TypeWriter::AppendExpr(ExprId expr, const std::string& hint,
                            std::string* out) {
  std::string& text = printed_[expr];
  if (text.empty()) AppendJsonString(context_.exprs.PrintSrepr(expr), &text);
  *out += "{\"as_expr\": {\"expr_str\": ";
  *out += text;
  if (hint != "null" || minor_ >= schema_minor::kPassingKinds) {
    *out += ", \"hint\": ";
    *out += hint;
  }
  *out += "}}";
}

}  // namespace tenon
