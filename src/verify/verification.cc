#include "verify/verification.h"

namespace tenon {

std::string Verification::ValueText(ValueId id) const {
  const Value& value = program.value(id);
  const std::string_view label = program.view(value.name);
  if (!label.empty()) return "%" + std::string(label);
  if (!value.is_input()) {
    const std::string_view node = program.view(program.node(value.def).name);
    if (!node.empty()) return "%" + std::string(node);
  }
  return (value.is_input() ? "input " : "result ") +
         std::to_string(value.index);
}

std::string Verification::SizeText(const SymInt& s) const {
  if (s.is_literal()) return std::to_string(s.value);
  return program.context().exprs.PrintInfix(s.expr);
}

std::string Verification::TypeText(TypeId id) const {
  const Type& t = program.type(id);
  switch (t.kind) {
    case TypeKind::kTensor: {
      std::string out(Name(t.dtype));
      out += '[';
      for (size_t d = 0; d < t.sizes.size(); ++d) {
        if (d > 0) out += ", ";
        out += SizeText(t.sizes[d]);
      }
      return out + "]";
    }
    case TypeKind::kSymInt:
      return "symint";
    case TypeKind::kSymFloat:
      return "symfloat";
    case TypeKind::kSymBool:
      return "symbool";
    case TypeKind::kObject:
      return "object";
    case TypeKind::kNone:
      return "none";
    case TypeKind::kInt:
      return "int";
    case TypeKind::kFloat:
      return "float";
    case TypeKind::kBool:
      return "bool";
    case TypeKind::kString:
      return "string";
  }
  return "";
}

bool KindsAgree(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (!a.is_tensor()) return true;
  return a.dtype == b.dtype && a.rank() == b.rank();
}

bool TypesAgree(const Type& a, const Type& b) {
  if (!KindsAgree(a, b)) return false;
  for (size_t d = 0; d < a.sizes.size(); ++d) {
    const SymInt &x = a.sizes[d], &y = b.sizes[d];
    if (x.is_literal() && y.is_literal() && x.value != y.value) return false;
  }
  return true;
}

const Type* TypeOf(const Program& program, const Arg& a) {
  return a.is_value() ? &program.type(a.v.value) : nullptr;
}

}  // namespace tenon
