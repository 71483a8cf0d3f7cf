// Recipes: symbolic scalars and what uses them; asserts.
#include "testing/scene.h"

namespace tenon::testing {
namespace {

TypeId Scalar(Scene& s, TypeKind kind, const SymInt& sym, double real = 0) {
  Type t;
  t.kind = kind;
  t.sym = sym;
  t.real = real;
  return s.Intern(std::move(t));
}

// A scalar for the leading size of some tensor.
std::optional<ValueId> AnySymInt(Scene& s) {
  if (!s.sym_ints.empty() && !s.choices.OneIn(3)) {
    return s.choices.PickFrom(s.sym_ints);
  }
  const auto x = s.Pick(
      [](const Type& t) { return t.rank() >= 1 && !t.sizes[0].is_literal(); });
  if (!x) return std::nullopt;
  const SymInt size = s.type(*x).sizes[0];
  const ValueId n = s.emit.Emit("aten.sym_size.int", {*x, Operand(0)},
                                Scalar(s, TypeKind::kSymInt, size));
  s.sym_ints.push_back(n);
  return n;
}

bool Size(Scene& s) { return AnySymInt(s).has_value(); }

// Only symbols, not what was computed from them: products of products would
// need sympy's normal form.
bool IsSymbol(Scene& s, ValueId v) {
  const SymInt n = s.type(v).sym;
  return s.context().exprs.get(n.expr).kind == ExprKind::kSymbol;
}

bool Arithmetic(Scene& s) {
  const auto n = AnySymInt(s);
  if (!n || !IsSymbol(s, *n)) return false;
  const SymInt from = s.type(*n).sym;
  const SymInt factor = SymInt::Literal(s.choices.Between(2, 3));
  s.sym_ints.push_back(
      s.emit.Emit("_operator.mul", {*n, Operand(factor.value)},
                  Scalar(s, TypeKind::kSymInt, s.Times(factor, from))));
  return true;
}

// A size list that mixes values and numbers.
bool FullOfSize(Scene& s) {
  const auto n = AnySymInt(s);
  if (!n) return false;
  const int64_t width = s.choices.Between(2, 4);
  const SymInt rows = s.type(*n).sym;
  const Arg cpu = Arg::OfDevice(s.context().Intern("cpu"), -1);
  return s.Make("aten.full.default",
                {Operand::Ints({Operand(*n), Operand(width)}), Operand(1.5)},
                s.RowMajor(DType::kFloat32, {rows, SymInt::Literal(width)}),
                {{"device", Operand(cpu)}, {"pin_memory", Operand(false)}});
}

bool TimesScalar(Scene& s) {
  const auto n = AnySymInt(s);
  if (!n) return false;
  const auto x = s.Pick(
      [&](const Type& t) { return IsFloating(t.dtype) && s.KeepsStrides(t); });
  if (!x) return false;
  return s.Make("aten.mul.Tensor", {*x, *n},
                s.Like(s.type(*x), s.type(*x).dtype));
}

bool AddFloat(Scene& s) {
  const auto n = AnySymInt(s);
  if (!n || !IsSymbol(s, *n)) return false;
  const auto x = s.Pick(
      [&](const Type& t) { return IsFloating(t.dtype) && s.KeepsStrides(t); });
  if (!x) return false;
  const SymInt from = s.type(*n).sym;
  const ExprId expr = s.context().exprs.Call("ToFloat", {from.expr});
  // A float's hint lies in `real`.
  const SymInt sym = {0, expr, /*has_hint=*/true};
  const ValueId f = s.emit.Emit(
      "torch.sym_float", {*n},
      Scalar(s, TypeKind::kSymFloat, sym, static_cast<double>(from.value)));
  return s.Make("aten.add.Tensor", {*x, f},
                s.Like(s.type(*x), s.type(*x).dtype));
}

// A truth value, and an assert that holds for every allowed size.
bool AssertSize(Scene& s) {
  const auto n = AnySymInt(s);
  if (!n || !IsSymbol(s, *n)) return false;
  ExprPool& exprs = s.context().exprs;
  const ExprId expr =
      exprs.Call("GreaterThan", {s.type(*n).sym.expr, exprs.Integer(2)});
  const ValueId holds =
      s.emit.Emit("_operator.ge", {*n, Operand(2)},
                  Scalar(s, TypeKind::kSymBool, SymInt::Symbolic(expr, 1)));
  const Arg message = Arg::String(s.context().Intern("size is at least 2"));
  s.emit.Emit("aten._assert_scalar.default", {holds, Operand(message)}, {}, {});
  return true;
}

bool AssertKind(Scene& s) {
  const auto x = s.Pick([](const Type&) { return true; });
  if (!x) return false;
  const Arg dtype = Arg::Dtype(s.type(*x).dtype);
  s.emit.Emit("aten._assert_tensor_metadata.default", {*x},
              {{"dtype", Operand(dtype)}}, {});
  return true;
}

constexpr Recipe kRecipes[] = {
    {"size", 1, Size},
    {"arithmetic", 1, Arithmetic},
    {"full", 2, FullOfSize},
    {"times", 1, TimesScalar},
    {"float", 1, AddFloat},
    {"assert_size", 1, AssertSize},
    {"assert_kind", 1, AssertKind},
};

}  // namespace

std::span<const Recipe> SymbolicRecipes() { return kRecipes; }

}  // namespace tenon::testing
