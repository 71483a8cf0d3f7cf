// Recipes: operators that work element by element.
#include <array>

#include "testing/scene.h"

namespace tenon::testing {
namespace {

bool IsFloat(const Type& t) { return IsFloating(t.dtype); }
bool IsNumber(const Type& t) { return t.dtype != DType::kBool; }

// Small exact factors and summands.
Operand SmallNumber(Scene& s, DType dtype) {
  const int64_t i = s.choices.Between(-3, 3);
  if (!IsFloating(dtype) || s.choices.OneIn(2)) return Operand(i);
  return Operand(static_cast<double>(i) / 4);
}

bool Unary(Scene& s) {
  constexpr std::array<std::string_view, 7> kOps = {
      "aten.tanh.default", "aten.relu.default", "aten.sigmoid.default",
      "aten.neg.default",  "aten.abs.default",  "aten.sin.default",
      "aten.cos.default"};
  const auto x =
      s.Pick([&](const Type& t) { return IsFloat(t) && s.KeepsStrides(t); });
  if (!x) return false;
  return s.Make(s.choices.PickFrom(kOps), {*x},
                s.Like(s.type(*x), s.type(*x).dtype));
}

bool Binary(Scene& s) {
  constexpr std::array<std::string_view, 5> kOps = {
      "aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
      "aten.maximum.default", "aten.minimum.default"};
  const auto x =
      s.Pick([&](const Type& t) { return IsNumber(t) && s.KeepsStrides(t); });
  if (!x) return false;
  const ValueId y = s.PickLike(s.program().value(*x).type).value_or(*x);
  return s.Make(s.choices.PickFrom(kOps), {*x, y},
                s.Like(s.type(*x), s.type(*x).dtype));
}

bool BinaryWithAlpha(Scene& s) {
  const auto x =
      s.Pick([&](const Type& t) { return IsNumber(t) && s.KeepsStrides(t); });
  if (!x) return false;
  const ValueId y = s.PickLike(s.program().value(*x).type).value_or(*x);
  const bool adds = s.choices.OneIn(2);
  return s.Make(adds ? "aten.add.Tensor" : "aten.sub.Tensor", {*x, y},
                s.Like(s.type(*x), s.type(*x).dtype),
                {{"alpha", Operand(s.choices.Between(1, 3))}});
}

// A tensor and a Python number, which export writes as the Tensor overload.
bool WithNumber(Scene& s) {
  constexpr std::array<std::string_view, 3> kOps = {
      "aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"};
  const auto x =
      s.Pick([&](const Type& t) { return IsNumber(t) && s.KeepsStrides(t); });
  if (!x) return false;
  const DType dtype = s.type(*x).dtype;
  const std::string_view op = s.choices.PickFrom(kOps);
  const Operand number = SmallNumber(s, dtype);
  return s.Make(op, {*x, number}, s.Like(s.type(*x), dtype));
}

// [..., n] and [n].
bool Broadcast(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return IsNumber(t) && t.rank() >= 2 && s.IsRowMajor(t);
  });
  if (!x) return false;
  const Type wide = s.type(*x);
  const auto y = s.Pick([&](const Type& t) {
    return t.dtype == wide.dtype && t.rank() == 1 && s.IsRowMajor(t) &&
           t.sizes[0] == wide.sizes.back();
  });
  if (!y) return false;
  const bool is_first = s.choices.OneIn(2);
  return s.Make("aten.add.Tensor", {is_first ? *y : *x, is_first ? *x : *y},
                s.Like(wide, wide.dtype));
}

bool Compare(Scene& s) {
  const auto x =
      s.Pick([&](const Type& t) { return IsNumber(t) && s.KeepsStrides(t); });
  if (!x) return false;
  const TypeId result = s.Like(s.type(*x), DType::kBool);
  if (s.choices.OneIn(2)) {
    return s.Make("aten.gt.Scalar", {*x, Operand(s.choices.Between(-1, 1))},
                  result);
  }
  const ValueId y = s.PickLike(s.program().value(*x).type).value_or(*x);
  return s.Make("aten.lt.Tensor", {*x, y}, result);
}

bool Logical(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return t.dtype == DType::kBool && s.KeepsStrides(t);
  });
  if (!x) return false;
  const TypeId result = s.Like(s.type(*x), DType::kBool);
  if (s.choices.OneIn(2)) {
    return s.Make("aten.logical_not.default", {*x}, result);
  }
  const ValueId y = s.PickLike(s.program().value(*x).type).value_or(*x);
  return s.Make("aten.bitwise_and.Tensor", {*x, y}, result);
}

bool Where(Scene& s) {
  const auto condition = s.Pick([&](const Type& t) {
    return t.dtype == DType::kBool && s.IsRowMajor(t);
  });
  if (!condition) return false;
  const Type shape = s.type(*condition);
  const auto fits = [&](const Type& t) {
    return IsFloat(t) && t.sizes == shape.sizes && s.IsRowMajor(t);
  };
  const auto x = s.Pick(fits);
  if (!x) return false;
  const DType dtype = s.type(*x).dtype;
  const ValueId y = s.Pick([&](const Type& t) {
                       return fits(t) && t.dtype == dtype;
                     }).value_or(*x);
  return s.Make("aten.where.self", {*condition, *x, y},
                s.RowMajor(dtype, shape.sizes));
}

// Only to kinds that hold every value: no float becomes an int.
bool Convert(Scene& s) {
  const auto x = s.Pick([&](const Type& t) { return s.KeepsStrides(t); });
  if (!x) return false;
  const DType from = s.type(*x).dtype;
  DType to = from == DType::kFloat32 ? DType::kFloat64 : DType::kFloat32;
  if (from == DType::kBool && s.choices.OneIn(2)) to = DType::kInt64;
  return s.Make("aten.to.dtype", {*x, Operand(Arg::Dtype(to))},
                s.Like(s.type(*x), to));
}

// One bound is None.
bool Clamp(Scene& s) {
  const auto x =
      s.Pick([&](const Type& t) { return IsNumber(t) && s.KeepsStrides(t); });
  if (!x) return false;
  const TypeId result = s.Like(s.type(*x), s.type(*x).dtype);
  if (s.choices.OneIn(2)) {
    return s.Make("aten.clamp.default", {*x, Operand(), Operand(2)}, result);
  }
  return s.Make("aten.clamp.default", {*x, Operand(-2)}, result);
}

// An argument that is text.
bool Gelu(Scene& s) {
  const auto x =
      s.Pick([&](const Type& t) { return IsFloat(t) && s.IsRowMajor(t); });
  if (!x) return false;
  const Arg tanh = Arg::String(s.context().Intern("tanh"));
  return s.Make("aten.gelu.default", {*x}, s.Like(s.type(*x), s.type(*x).dtype),
                {{"approximate", Operand(tanh)}});
}

bool Fill(Scene& s) {
  const auto x = s.Pick(
      [&](const Type& t) { return t.has_static_sizes() && s.IsRowMajor(t); });
  if (!x) return false;
  const Type like = s.type(*x);
  if (s.choices.OneIn(2)) {
    return s.Make("aten.zeros_like.default", {*x}, s.Like(like, like.dtype),
                  {{"pin_memory", Operand(false)}});
  }
  std::vector<Operand> sizes;
  for (const SymInt& size : like.sizes) sizes.emplace_back(size.value);
  const Arg cpu = Arg::OfDevice(s.context().Intern("cpu"), -1);
  return s.Make("aten.full.default",
                {Operand::Ints(std::move(sizes)), Operand(0.5)},
                s.RowMajor(DType::kFloat32, like.sizes),
                {{"dtype", Operand(Arg::Dtype(DType::kFloat32))},
                 {"device", Operand(cpu)},
                 {"pin_memory", Operand(false)}});
}

constexpr Recipe kRecipes[] = {
    {"unary", 6, Unary},
    {"binary", 8, Binary},
    {"alpha", 2, BinaryWithAlpha},
    {"number", 4, WithNumber},
    {"broadcast", 3, Broadcast},
    {"compare", 2, Compare},
    {"logical", 2, Logical},
    {"where", 2, Where},
    {"convert", 2, Convert},
    {"clamp", 2, Clamp},
    {"gelu", 1, Gelu},
    {"fill", 2, Fill},
};

}  // namespace

std::span<const Recipe> PointwiseRecipes() { return kRecipes; }

}  // namespace tenon::testing
