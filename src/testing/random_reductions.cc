// Recipes: reductions, sorting, normalisation; operators with several results.
#include "testing/scene.h"

namespace tenon::testing {
namespace {

bool IsFloat(const Type& t) { return IsFloating(t.dtype); }

std::vector<SymInt> Without(std::vector<SymInt> sizes, int64_t dim, bool keep) {
  if (keep) {
    sizes[dim] = SymInt::Literal(1);
  } else {
    sizes.erase(sizes.begin() + dim);
  }
  return sizes;
}

bool Reduce(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return IsFloat(t) && t.rank() >= 1 && s.IsRowMajor(t);
  });
  if (!x) return false;
  const Type from = s.type(*x);
  const int64_t dim = s.choices.Between(0, from.rank() - 1);
  const bool keep = s.choices.OneIn(2);
  const Operand dims = Operand::Ints({Operand(dim)});
  const std::string_view op =
      s.choices.OneIn(2) ? "aten.sum.dim_IntList" : "aten.mean.dim";
  const TypeId result = s.RowMajor(from.dtype, Without(from.sizes, dim, keep));
  if (!keep) return s.Make(op, {*x, dims}, result);
  return s.Make(op, {*x, dims, Operand(true)}, result);
}

// Values and their positions.
bool Extreme(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return IsFloat(t) && t.rank() >= 1 && s.IsRowMajor(t);
  });
  if (!x) return false;
  const Type from = s.type(*x);
  const int64_t dim = s.choices.Between(0, from.rank() - 1);
  const std::vector<SymInt> sizes = Without(from.sizes, dim, false);
  return s.MakeAll(
      "aten.max.dim", {*x, Operand(dim)},
      {s.RowMajor(from.dtype, sizes), s.RowMajor(DType::kInt64, sizes)});
}

bool Sort(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return IsFloat(t) && t.rank() >= 1 && s.IsRowMajor(t);
  });
  if (!x) return false;
  const Type from = s.type(*x);
  return s.MakeAll("aten.sort.stable", {*x},
                   {s.RowMajor(from.dtype, from.sizes),
                    s.RowMajor(DType::kInt64, from.sizes)},
                   {{"stable", Operand(true)}, {"dim", Operand(-1)}});
}

bool Softmax(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return IsFloat(t) && t.rank() >= 1 && s.IsRowMajor(t);
  });
  if (!x) return false;
  return s.Make("aten.softmax.int", {*x, Operand(-1)},
                s.Like(s.type(*x), s.type(*x).dtype));
}

// Three results, of which two usually stay unused; weight and bias are None.
bool LayerNorm(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return t.dtype == DType::kFloat32 && t.rank() >= 2 && s.IsRowMajor(t) &&
           t.sizes.back().is_literal();
  });
  if (!x) return false;
  const Type from = s.type(*x);
  const std::vector<SymInt> row =
      Without(from.sizes, from.rank() - 1, /*keep=*/true);
  const Operand sizes = Operand::Ints({Operand(from.sizes.back().value)});
  return s.MakeAll("aten.native_layer_norm.default",
                   {*x, sizes, Operand(), Operand(), Operand(1e-5)},
                   {s.RowMajor(from.dtype, from.sizes),
                    s.RowMajor(from.dtype, row), s.RowMajor(from.dtype, row)});
}

constexpr Recipe kRecipes[] = {
    {"reduce", 4, Reduce},   {"max", 1, Extreme},          {"sort", 1, Sort},
    {"softmax", 2, Softmax}, {"layer_norm", 1, LayerNorm},
};

}  // namespace

std::span<const Recipe> ReductionRecipes() { return kRecipes; }

}  // namespace tenon::testing
