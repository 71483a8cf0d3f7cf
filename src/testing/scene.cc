#include "testing/scene.h"

#include <algorithm>
#include <utility>

namespace tenon::testing {
namespace {

// A new expression's value in the exporter's example run.
std::optional<int64_t> Hint(const SymInt& a) {
  if (a.is_literal() || a.has_hint) return a.value;
  return std::nullopt;
}

bool IsOne(const SymInt& s) { return s.is_literal() && s.value == 1; }

}  // namespace

ValueId Scene::Draw() const {
  const uint32_t count = static_cast<uint32_t>(tensors.size());
  constexpr uint32_t kRecent = 8;
  if (count > kRecent && !choices.OneIn(3)) {
    return tensors[count - 1 - choices.Below(kRecent)];
  }
  return tensors[choices.Below(count)];
}

void Scene::Keep(NodeId node) {
  const ValueRange results = program().node(node).results;
  for (uint32_t i = 0; i < results.count; ++i) {
    if (type(results[i]).is_tensor()) tensors.push_back(results[i]);
  }
}

bool Scene::Make(std::string_view op, std::initializer_list<Operand> positional,
                 TypeId result, std::initializer_list<Keyword> keywords) {
  Keep(emit.Emit(op, positional, keywords, {result}));
  return true;
}

bool Scene::MakeAll(std::string_view op,
                    std::initializer_list<Operand> positional,
                    std::initializer_list<TypeId> results,
                    std::initializer_list<Keyword> keywords) {
  Keep(emit.Emit(op, positional, keywords, results));
  return true;
}

bool Scene::MakeList(std::string_view op,
                     std::initializer_list<Operand> positional,
                     std::span<const TypeId> results) {
  Keep(emit.EmitListReturn(op, positional, results));
  return true;
}

// sympy's order: the number first, then the symbols.
SymInt Scene::Times(const SymInt& a, const SymInt& b) const {
  if (IsOne(a)) return b;
  if (IsOne(b)) return a;
  if (a.is_literal() && b.is_literal()) {
    return SymInt::Literal(a.value * b.value);
  }
  if (b.is_literal()) return Times(b, a);
  ExprPool& exprs = context().exprs;
  std::optional<int64_t> hint;
  if (Hint(a) && Hint(b)) hint = *Hint(a) * *Hint(b);
  if (!a.is_literal()) {
    return SymInt::Symbolic(exprs.Call("Mul", {a.expr, b.expr}), hint);
  }
  // c * (d * rest) is (c * d) * rest.
  const Expr& e = exprs.get(b.expr);
  if (e.kind == ExprKind::kCall && program().view(e.text) == "Mul" &&
      exprs.get(e.args[0]).kind == ExprKind::kInteger) {
    std::vector<ExprId> args = e.args;
    args[0] = exprs.Integer(a.value * exprs.get(args[0]).a);
    return SymInt::Symbolic(exprs.Call("Mul", std::move(args)), hint);
  }
  const ExprId factor = exprs.Integer(a.value);
  return SymInt::Symbolic(exprs.Call("Mul", {factor, b.expr}), hint);
}

SymInt Scene::Plus(const SymInt& a, const SymInt& b) const {
  if (a.is_literal() && b.is_literal()) {
    return SymInt::Literal(a.value + b.value);
  }
  if (a == b) return Times(SymInt::Literal(2), a);
  ExprPool& exprs = context().exprs;
  const auto expr = [&](const SymInt& s) {
    return s.is_literal() ? exprs.Integer(s.value) : s.expr;
  };
  std::optional<int64_t> hint;
  if (Hint(a) && Hint(b)) hint = *Hint(a) + *Hint(b);
  return SymInt::Symbolic(exprs.Call("Add", {expr(a), expr(b)}), hint);
}

std::vector<SymInt> Scene::RowMajorStrides(
    const std::vector<SymInt>& sizes) const {
  std::vector<SymInt> strides(sizes.size());
  SymInt stride = SymInt::Literal(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = Times(stride, sizes[i]);
  }
  return strides;
}

TypeId Scene::RowMajor(DType dtype, std::vector<SymInt> sizes) const {
  Type t;
  t.kind = TypeKind::kTensor;
  t.dtype = dtype;
  t.device.type = context().Intern("cpu");
  t.strides = RowMajorStrides(sizes);
  t.sizes = std::move(sizes);
  return Intern(std::move(t));
}

TypeId Scene::Like(const Type& type, DType dtype) const {
  Type t = type;
  t.dtype = dtype;
  t.requires_grad = false;
  t.storage_offset = SymInt::Literal(0);
  return Intern(std::move(t));
}

bool Scene::IsRowMajor(const Type& type) const {
  return type.strides == RowMajorStrides(type.sizes);
}

bool Scene::KeepsStrides(const Type& type) const {
  if (IsRowMajor(type)) return true;
  const size_t rank = type.sizes.size();
  if (std::any_of(type.sizes.begin(), type.sizes.end(), IsOne)) return false;
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  do {
    std::vector<SymInt> sizes, strides;
    for (const size_t i : order) {
      sizes.push_back(type.sizes[i]);
      strides.push_back(type.strides[i]);
    }
    if (strides == RowMajorStrides(sizes)) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

int64_t Scene::NumElementsHint(const Type& type) {
  int64_t count = 1;
  for (const SymInt& size : type.sizes) count *= size.value;
  return count;
}

void ExtendScene(Scene& scene, size_t num_nodes) {
  static const std::vector<const Recipe*> recipes = [] {
    std::vector<const Recipe*> all;
    for (const auto group :
         {PointwiseRecipes(), ViewRecipes(), RearrangeRecipes(),
          ReductionRecipes(), SymbolicRecipes(), NestedGraphRecipes()}) {
      for (const Recipe& recipe : group) {
        all.insert(all.end(), recipe.weight, &recipe);
      }
    }
    return all;
  }();
  // A recipe that finds no operands costs a try; the first pointwise one always
  // finds some, so that each round makes progress.
  for (size_t i = 0; i < num_nodes; ++i) {
    if (scene.choices.PickFrom(recipes)->run(scene)) continue;
    if (scene.choices.PickFrom(recipes)->run(scene)) continue;
    PointwiseRecipes()[0].run(scene);
  }
}

}  // namespace tenon::testing
