// Python's functions on symbolic scalars: int, float or bool.
#include "analysis/infer_call.h"

namespace tenon {
namespace {

enum class Outcome : uint8_t {
  kNumber,  // float if an operand is, else int
  kInt,
  kFloat,
  kBool,
};

struct Function {
  std::string_view name;
  Outcome outcome;
};

// pow is left out: an int to a negative power is a float.
constexpr Function kFunctions[] = {
    {"_operator.add", Outcome::kNumber},
    {"_operator.sub", Outcome::kNumber},
    {"_operator.mul", Outcome::kNumber},
    {"_operator.mod", Outcome::kNumber},
    {"_operator.floordiv", Outcome::kNumber},
    {"_operator.truediv", Outcome::kFloat},
    {"_operator.eq", Outcome::kBool},
    {"_operator.ne", Outcome::kBool},
    {"_operator.lt", Outcome::kBool},
    {"_operator.le", Outcome::kBool},
    {"_operator.gt", Outcome::kBool},
    {"_operator.ge", Outcome::kBool},
    {"math.trunc", Outcome::kInt},
    {"math.floor", Outcome::kInt},
    {"math.ceil", Outcome::kInt},
    {"torch.sym_int", Outcome::kInt},
    {"torch.sym_float", Outcome::kFloat},
    {"torch.sym_max", Outcome::kNumber},
    {"torch.sym_min", Outcome::kNumber},
    {"torch.sym_not", Outcome::kBool},
    {"torch._sym_sqrt", Outcome::kFloat},
};

// nullopt: no number.
std::optional<bool> IsFloat(const Program& program, const Arg& a) {
  if (a.kind == ArgKind::kFloat) return true;
  if (a.kind == ArgKind::kInt || a.kind == ArgKind::kBool) return false;
  if (!a.is_value()) return std::nullopt;
  const TypeKind kind = program.type(a.v.value).kind;
  if (kind == TypeKind::kSymFloat || kind == TypeKind::kFloat) return true;
  if (kind == TypeKind::kSymInt || kind == TypeKind::kInt) return false;
  return std::nullopt;
}

}  // namespace

bool InferScalarFunction(const Program& program, NodeId n,
                         InferredTypes* results) {
  const std::string_view name = program.op_name(n);
  const Function* function = nullptr;
  for (const Function& f : kFunctions) {
    if (f.name == name) function = &f;
  }
  if (function == nullptr) return false;
  bool any_float = false;
  for (const Arg& a : program.args(n)) {
    const auto is_float = IsFloat(program, a);
    if (!is_float) return false;
    any_float = any_float || *is_float;
  }
  InferredType& out = results->Add();
  out.has_kind = true;
  switch (function->outcome) {
    case Outcome::kNumber:
      out.kind = any_float ? TypeKind::kSymFloat : TypeKind::kSymInt;
      break;
    case Outcome::kInt:
      out.kind = TypeKind::kSymInt;
      break;
    case Outcome::kFloat:
      out.kind = TypeKind::kSymFloat;
      break;
    case Outcome::kBool:
      out.kind = TypeKind::kSymBool;
      break;
  }
  return true;
}

}  // namespace tenon
