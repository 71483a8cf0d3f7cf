#include "ir/literal.h"

namespace tenon {

Arg LiteralOf(const Type& type) {
  switch (type.kind) {
    case TypeKind::kInt:
      return Arg::Int(type.sym.value);
    case TypeKind::kFloat:
      return Arg::Float(type.real);
    case TypeKind::kBool:
      return Arg::Bool(type.sym.value != 0);
    case TypeKind::kString:
      return Arg::String(type.text);
    case TypeKind::kNone:
    case TypeKind::kTensor:
    case TypeKind::kSymInt:
    case TypeKind::kSymFloat:
    case TypeKind::kSymBool:
    case TypeKind::kObject:
      break;
  }
  return Arg::None();
}

}  // namespace tenon
