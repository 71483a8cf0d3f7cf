// Recipes: new tensors from whole ones, products, look-ups.
#include <algorithm>

#include "testing/scene.h"

namespace tenon::testing {
namespace {

constexpr int64_t kMaxElements = 2048;

bool Concatenate(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return t.rank() >= 1 && s.IsRowMajor(t) &&
           Scene::NumElementsHint(t) <= kMaxElements;
  });
  if (!x) return false;
  const ValueId y = s.PickLike(s.program().value(*x).type).value_or(*x);
  const Type from = s.type(*x);
  const int64_t dim = s.choices.Between(0, from.rank() - 1);
  std::vector<SymInt> sizes = from.sizes;
  sizes[dim] = s.Plus(sizes[dim], sizes[dim]);
  const ValueId parts[] = {*x, y};
  return s.Make("aten.cat.default", {Operand::Tensors(parts), Operand(dim)},
                s.RowMajor(from.dtype, std::move(sizes)));
}

bool Stack(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return t.rank() <= 2 && s.IsRowMajor(t) &&
           Scene::NumElementsHint(t) <= kMaxElements;
  });
  if (!x) return false;
  const ValueId y = s.PickLike(s.program().value(*x).type).value_or(*x);
  const Type from = s.type(*x);
  std::vector<SymInt> sizes = from.sizes;
  sizes.insert(sizes.begin(), SymInt::Literal(2));
  const ValueId parts[] = {*x, y};
  return s.Make("aten.stack.default", {Operand::Tensors(parts)},
                s.RowMajor(from.dtype, std::move(sizes)));
}

bool Copy(Scene& s) {
  const auto x = s.Pick([&](const Type& t) { return !s.IsRowMajor(t); });
  if (!x) return false;
  const Type from = s.type(*x);
  return s.Make("aten.clone.default", {*x}, s.RowMajor(from.dtype, from.sizes),
                {{"memory_format",
                  Operand(Arg::OfMemoryFormat(MemoryFormat::kContiguous))}});
}

// x [a, n] with weight [m, n] and, half of the time, a bias [m].
bool Linear(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return t.dtype == DType::kFloat32 && t.rank() == 2 && s.IsRowMajor(t);
  });
  if (!x) return false;
  const Type from = s.type(*x);
  const auto weight = s.Pick([&](const Type& t) {
    return t.dtype == DType::kFloat32 && t.rank() == 2 && s.IsRowMajor(t) &&
           t.has_static_sizes() && t.sizes[1] == from.sizes[1];
  });
  if (!weight) return false;
  const SymInt width = s.type(*weight).sizes[0];
  const TypeId result = s.RowMajor(DType::kFloat32, {from.sizes[0], width});
  const auto bias = s.Pick([&](const Type& t) {
    return t.dtype == DType::kFloat32 && t.rank() == 1 && s.IsRowMajor(t) &&
           t.sizes[0] == width;
  });
  if (bias && s.choices.OneIn(2)) {
    return s.Make("aten.linear.default", {*x, *weight, *bias}, result);
  }
  return s.Make("aten.linear.default", {*x, *weight}, result);
}

bool MatrixProduct(Scene& s) {
  const auto fits = [&](const Type& t) {
    return IsFloating(t.dtype) && t.rank() == 2 && s.KeepsStrides(t);
  };
  const auto x = s.Pick(fits);
  if (!x) return false;
  const Type left = s.type(*x);
  const auto y = s.Pick([&](const Type& t) {
    return fits(t) && t.dtype == left.dtype && t.sizes[0] == left.sizes[1];
  });
  if (!y) return false;
  return s.Make(s.choices.OneIn(2) ? "aten.mm.default" : "aten.matmul.default",
                {*x, *y},
                s.RowMajor(left.dtype, {left.sizes[0], s.type(*y).sizes[1]}));
}

// Positions that certainly exist: 0, 1, ..., n - 1.
ValueId Positions(Scene& s, int64_t count) {
  const Arg cpu = Arg::OfDevice(s.context().Intern("cpu"), -1);
  return s.emit.Emit(
      "aten.arange.default", {Operand(count)},
      s.RowMajor(DType::kInt64, {SymInt::Literal(count)}),
      {{"device", Operand(cpu)}, {"pin_memory", Operand(false)}});
}

bool IndexSelect(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return t.rank() >= 1 && s.IsRowMajor(t) && t.sizes.back().is_literal();
  });
  if (!x) return false;
  const Type from = s.type(*x);
  const int64_t dim = from.rank() - 1;
  const ValueId index =
      Positions(s, s.choices.Between(1, from.sizes[dim].value));
  std::vector<SymInt> sizes = from.sizes;
  sizes[dim] = s.type(index).sizes[0];
  return s.Make("aten.index_select.default", {*x, Operand(dim), index},
                s.RowMajor(from.dtype, std::move(sizes)));
}

// A list with a None: x[:, index].
bool Index(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return t.rank() == 2 && s.IsRowMajor(t) && t.has_static_sizes();
  });
  if (!x) return false;
  const Type from = s.type(*x);
  const ValueId index = Positions(s, s.choices.Between(1, from.sizes[1].value));
  std::vector<SymInt> sizes = {from.sizes[0], s.type(index).sizes[0]};
  return s.Make("aten.index.Tensor",
                {*x, Operand::OptionalTensors({Operand(), Operand(index)})},
                s.RowMajor(from.dtype, std::move(sizes)));
}

bool Embedding(Scene& s) {
  const auto table = s.Pick([&](const Type& t) {
    return t.dtype == DType::kFloat32 && t.rank() == 2 && s.IsRowMajor(t) &&
           t.has_static_sizes();
  });
  if (!table) return false;
  const Type from = s.type(*table);
  const ValueId index = Positions(s, s.choices.Between(1, from.sizes[0].value));
  return s.Make(
      "aten.embedding.default", {*table, index},
      s.RowMajor(from.dtype, {s.type(index).sizes[0], from.sizes[1]}));
}

constexpr Recipe kRecipes[] = {
    {"cat", 2, Concatenate},
    {"stack", 1, Stack},
    {"copy", 4, Copy},
    {"linear", 4, Linear},
    {"matmul", 3, MatrixProduct},
    {"index_select", 1, IndexSelect},
    {"index", 1, Index},
    {"embedding", 1, Embedding},
};

}  // namespace

std::span<const Recipe> RearrangeRecipes() { return kRecipes; }

}  // namespace tenon::testing
