// Recipes: results that share their operand's storage.
#include <algorithm>

#include "testing/scene.h"

namespace tenon::testing {
namespace {

constexpr int64_t kMaxRank = 4;

bool Transpose(Scene& s) {
  const auto x = s.Pick([](const Type& t) { return t.rank() >= 2; });
  if (!x) return false;
  Type t = s.type(*x);
  const int64_t a = s.choices.Between(0, t.rank() - 2);
  const int64_t b = s.choices.Between(a + 1, t.rank() - 1);
  std::swap(t.sizes[a], t.sizes[b]);
  std::swap(t.strides[a], t.strides[b]);
  const int64_t negative = s.choices.OneIn(2) ? t.rank() : 0;
  t.requires_grad = false;
  return s.Make("aten.transpose.int",
                {*x, Operand(a - negative), Operand(b - negative)},
                s.Intern(std::move(t)));
}

bool Permute(Scene& s) {
  const auto x = s.Pick([](const Type& t) { return t.rank() >= 2; });
  if (!x) return false;
  const Type from = s.type(*x);
  Type t = from;
  std::vector<Operand> dims;
  // A rotation, which for three dimensions is no transposition.
  const int64_t shift = s.choices.Between(1, from.rank() - 1);
  for (int64_t i = 0; i < from.rank(); ++i) {
    const int64_t dim = (i + shift) % from.rank();
    dims.emplace_back(dim);
    t.sizes[i] = from.sizes[dim];
    t.strides[i] = from.strides[dim];
  }
  t.requires_grad = false;
  return s.Make("aten.permute.default", {*x, Operand::Ints(std::move(dims))},
                s.Intern(std::move(t)));
}

bool Unsqueeze(Scene& s) {
  const auto x = s.Pick([](const Type& t) { return t.rank() + 1 < kMaxRank; });
  if (!x) return false;
  Type t = s.type(*x);
  const int64_t dim = s.choices.Between(0, t.rank());
  const SymInt stride = dim < t.rank() ? s.Times(t.sizes[dim], t.strides[dim])
                                       : SymInt::Literal(1);
  t.sizes.insert(t.sizes.begin() + dim, SymInt::Literal(1));
  t.strides.insert(t.strides.begin() + dim, stride);
  t.requires_grad = false;
  return s.Make("aten.unsqueeze.default", {*x, Operand(dim)},
                s.Intern(std::move(t)));
}

// A dimension of size 1 becomes longer with stride 0.
bool Expand(Scene& s) {
  const auto x = s.Pick([](const Type& t) {
    return t.has_static_sizes() && t.rank() > 0 &&
           Scene::NumElementsHint(t) <= 256 &&
           std::any_of(t.sizes.begin(), t.sizes.end(),
                       [](const SymInt& n) { return n.value == 1; });
  });
  if (!x) return false;
  Type t = s.type(*x);
  std::vector<Operand> sizes;
  for (size_t i = 0; i < t.sizes.size(); ++i) {
    if (t.sizes[i].value == 1) {
      t.sizes[i] = SymInt::Literal(3);
      t.strides[i] = SymInt::Literal(0);
      sizes.emplace_back(3);
    } else {
      sizes.emplace_back(-1);
    }
  }
  t.requires_grad = false;
  return s.Make("aten.expand.default", {*x, Operand::Ints(std::move(sizes))},
                s.Intern(std::move(t)));
}

bool Slice(Scene& s) {
  const auto x = s.Pick([](const Type& t) {
    return t.rank() > 0 && t.strides.back().is_literal() &&
           t.sizes.back().is_literal() && t.sizes.back().value >= 3 &&
           t.storage_offset.is_literal();
  });
  if (!x) return false;
  Type t = s.type(*x);
  const int64_t dim = t.rank() - 1;
  const int64_t size = t.sizes[dim].value;
  const int64_t start = s.choices.Between(0, 1);
  const int64_t end = s.choices.Between(start + 1, size);
  const int64_t step = s.choices.Between(1, 2);
  t.storage_offset.value += start * t.strides[dim].value;
  t.sizes[dim] = SymInt::Literal((end - start + step - 1) / step);
  t.strides[dim].value *= step;
  t.requires_grad = false;
  // An end of INT64_MAX means "to the end", as export writes it.
  const int64_t written_end = end == size ? INT64_MAX : end;
  return s.Make(
      "aten.slice.Tensor",
      {*x, Operand(dim), Operand(start), Operand(written_end), Operand(step)},
      s.Intern(std::move(t)));
}

bool Select(Scene& s) {
  const auto x = s.Pick([](const Type& t) {
    return t.rank() > 0 && t.sizes.back().is_literal() &&
           t.strides.back().is_literal() && t.storage_offset.is_literal();
  });
  if (!x) return false;
  Type t = s.type(*x);
  const int64_t dim = t.rank() - 1;
  const int64_t size = t.sizes[dim].value;
  const int64_t index = s.choices.Between(-1, size - 1);
  const int64_t at = index < 0 ? index + size : index;
  t.storage_offset.value += at * t.strides[dim].value;
  t.sizes.pop_back();
  t.strides.pop_back();
  t.requires_grad = false;
  return s.Make("aten.select.int", {*x, Operand(dim), Operand(index)},
                s.Intern(std::move(t)));
}

// [a, ..., z] -> [a, rest], the leading size symbolic or not.
bool Flatten(Scene& s) {
  const auto x = s.Pick([&](const Type& t) {
    return t.rank() >= 2 && s.IsRowMajor(t) &&
           std::all_of(t.sizes.begin() + 1, t.sizes.end(),
                       [](const SymInt& n) { return n.is_literal(); });
  });
  if (!x) return false;
  const Type from = s.type(*x);
  SymInt rest = SymInt::Literal(1);
  for (int64_t i = 1; i < from.rank(); ++i) rest = s.Times(rest, from.sizes[i]);
  Type t = from;
  t.sizes = {from.sizes[0], rest};
  t.strides = s.RowMajorStrides(t.sizes);
  t.requires_grad = false;
  return s.Make("aten.view.default",
                {*x, Operand::Ints({Operand(-1), Operand(rest.value)})},
                s.Intern(std::move(t)));
}

// A list of views.
bool Unbind(Scene& s) {
  const auto x = s.Pick([](const Type& t) {
    return t.rank() >= 2 && t.sizes[1].is_literal() &&
           t.strides[1].is_literal() && t.sizes[1].value <= 4 &&
           t.storage_offset.is_literal();
  });
  if (!x) return false;
  const Type from = s.type(*x);
  std::vector<TypeId> types;
  for (int64_t i = 0; i < from.sizes[1].value; ++i) {
    Type t = from;
    t.storage_offset.value += i * from.strides[1].value;
    t.sizes.erase(t.sizes.begin() + 1);
    t.strides.erase(t.strides.begin() + 1);
    t.requires_grad = false;
    types.push_back(s.Intern(std::move(t)));
  }
  return s.MakeList("aten.unbind.int", {*x, Operand(1)}, types);
}

bool Split(Scene& s) {
  const auto x = s.Pick([](const Type& t) {
    return t.rank() >= 1 && t.sizes.back().is_literal() &&
           t.strides.back().is_literal() && t.sizes.back().value >= 2 &&
           t.storage_offset.is_literal();
  });
  if (!x) return false;
  const Type from = s.type(*x);
  const int64_t dim = from.rank() - 1;
  const int64_t size = from.sizes[dim].value;
  const int64_t first = s.choices.Between(1, size - 1);
  std::vector<TypeId> types;
  int64_t offset = 0;
  for (const int64_t part : {first, size - first}) {
    Type t = from;
    t.sizes[dim] = SymInt::Literal(part);
    t.storage_offset.value += offset * from.strides[dim].value;
    t.requires_grad = false;
    types.push_back(s.Intern(std::move(t)));
    offset += part;
  }
  return s.MakeList("aten.split_with_sizes.default",
                    {*x, Operand::Ints({Operand(first), Operand(size - first)}),
                     Operand(dim)},
                    types);
}

constexpr Recipe kRecipes[] = {
    {"transpose", 3, Transpose}, {"permute", 2, Permute},
    {"unsqueeze", 2, Unsqueeze}, {"expand", 1, Expand},
    {"slice", 2, Slice},         {"select", 2, Select},
    {"flatten", 2, Flatten},     {"unbind", 1, Unbind},
    {"split", 2, Split},
};

}  // namespace

std::span<const Recipe> ViewRecipes() { return kRecipes; }

}  // namespace tenon::testing
