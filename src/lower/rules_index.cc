// Reading and writing by index.
#include <vector>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

// [None, .., None, index]: `index` along dimension `dim`.
std::optional<Operand> IndicesAlong(NodeRewrite& r, size_t dim_arg,
                                    const Operand& index) {
  const auto dim = r.Int(dim_arg);
  if (!r.tensor(0).valid() || !dim) return {};
  const auto at = FindDim(*dim, r.type(0).rank());
  if (!at) return {};
  std::vector<Operand> items(*at);
  items.push_back(index);
  return Operand::List(ListTag::kOptionalTensors, std::move(items));
}

// (self, dim, index, source): whole slices go where the index says.
Rewritten IndexCopy(NodeRewrite& r) {
  const auto indices = IndicesAlong(r, 1, r.arg(2));
  if (!indices || !r.tensor(3).valid()) return Rewritten::kSkip;
  return r.Become("aten.index_put.default",
                  {r.arg(0), *indices, r.arg(3), Operand::Bool(false)});
}

// (self, indices, values, accumulate): the kernel that writes in place wants
// values of all the sizes that one index, along one dimension, opens.
Rewritten IndexPut(NodeRewrite& r) {
  if (!r.tensor(0).valid() || !r.tensor(2).valid() || !r.arg(1).is_list) {
    return Rewritten::kSkip;
  }
  const auto& indices = r.arg(1).items;
  Shape opened = r.type(0).sizes;
  size_t count = 0;
  ValueId index;
  if (indices.size() > opened.size()) return Rewritten::kSkip;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].value.valid()) continue;
    const Type& type = r.program().type(indices[d].value);
    if (type.rank() != 1 || !IsIntegral(type.dtype)) return Rewritten::kSkip;
    opened[d] = type.sizes[0];
    index = indices[d].value;
    ++count;
  }
  const Shape given = r.type(2).sizes;
  if (count != 1 || given == opened || given.size() > opened.size()) {
    return Rewritten::kSkip;
  }
  Shape wide(opened.size() - given.size(), SymInt::Literal(1));
  wide.insert(wide.end(), given.begin(), given.end());
  const auto shaped = r.build.Reshape(r.tensor(2), wide);
  if (!shaped) return Rewritten::kSkip;
  ValueId values = *shaped;
  if (wide != opened) {
    const auto list = r.build.Sizes(opened, {{r.tensor(0), index}});
    if (!list) return Rewritten::kSkip;
    const DType dtype = r.type(2).dtype;
    values = r.build.Call("aten.expand_copy.default", {values, *list},
                          r.build.TensorType(dtype, opened));
  }
  return r.Become("aten.index_put.default",
                  {r.arg(0), r.arg(1), values, r.arg(3)});
}

// (self, dim, index, source, alpha)
Rewritten IndexAdd(NodeRewrite& r) {
  const auto alpha = r.Number(4);
  if (!r.tensor(3).valid() || !alpha) return Rewritten::kSkip;
  const auto indices = IndicesAlong(r, 1, r.arg(2));
  if (!indices) return Rewritten::kSkip;
  ValueId source = r.tensor(3);
  if (*alpha != 1) {
    source = r.build.Call("aten.mul.Scalar", {source, r.arg(4)},
                          r.build.TypeLike(source));
  }
  return r.Become("aten.index_put.default",
                  {r.arg(0), *indices, source, Operand::Bool(true)});
}

// (self, dim, index, src, reduce, include_self)
Rewritten ScatterReduce(NodeRewrite& r) {
  if (r.String(4) != "sum" || !r.Bool(5, true)) return Rewritten::kSkip;
  return r.Become("aten.scatter_add.default",
                  {r.arg(0), r.arg(1), r.arg(2), r.arg(3)});
}

// How many boundaries each element is above, or not below: written as what it
// isn't, so that NaN is above all.
Rewritten Bucketize(NodeRewrite& r) {
  const ValueId self = r.tensor(0), boundaries = r.tensor(1);
  if (!self.valid() || !boundaries.valid() || r.type(1).rank() != 1) {
    return Rewritten::kSkip;
  }
  const bool right = r.Bool(3);
  Shape sizes = r.type(0).sizes;
  sizes.push_back(SymInt::Literal(1));
  const auto column = r.build.Reshape(self, sizes);
  if (!column) return Rewritten::kSkip;
  sizes.back() = r.type(1).sizes[0];
  const TypeId flags = r.build.TensorType(DType::kBool, sizes);
  const ValueId stops =
      r.build.Call(right ? "aten.gt.Tensor" : "aten.ge.Tensor",
                   {boundaries, *column}, flags);
  const ValueId passes =
      r.build.Call("aten.logical_not.default", {stops}, flags);
  const ValueId numbers = r.build.Cast(passes, DType::kInt64);
  const DType dtype = r.result_type().dtype;
  const ValueId count = r.build.Call(
      "aten.sum.dim_IntList",
      {numbers, Operand::Ints(std::vector<int64_t>{-1}), Operand::Bool(false)},
      r.build.TypeLike(r.result(), DType::kInt64));
  return r.Done(r.build.Cast(count, dtype));
}

// (self, repeats, dim): each element so many times.
Rewritten RepeatInterleave(NodeRewrite& r) {
  const auto repeats = r.Int(1);
  if (!r.tensor(0).valid() || !repeats || *repeats < 1) return Rewritten::kSkip;
  const auto given = r.Int(2);
  ValueId self = r.tensor(0);
  std::optional<size_t> dim = 0;
  if (given) {
    dim = FindDim(*given, r.type(0).rank());
    if (!dim) return Rewritten::kSkip;
  } else {
    const auto flat =
        r.build.Reshape(self, {r.build.ProductOf(r.type(0).sizes)});
    if (!flat) return Rewritten::kSkip;
    self = *flat;
  }
  Shape apart = r.program().type(self).sizes;
  apart.insert(apart.begin() + static_cast<ptrdiff_t>(*dim) + 1,
               SymInt::Literal(1));
  const auto single = r.build.Reshape(self, apart);
  if (!single) return Rewritten::kSkip;
  Shape wide = apart;
  wide[*dim + 1] = SymInt::Literal(*repeats);
  const auto list = r.build.Sizes(wide, {&self, 1});
  if (!list) return Rewritten::kSkip;
  const ValueId copies =
      r.build.Call("aten.expand_copy.default", {*single, *list},
                   r.build.TensorType(r.result_type().dtype, wide));
  const auto out = r.build.Reshape(copies, r.result_type().sizes);
  return out ? r.Done(*out) : Rewritten::kSkip;
}

}  // namespace

std::vector<RuleRow> IndexRules() {
  return {
      {"aten.index_put.default", IndexPut},
      {"aten.index_copy.default", IndexCopy},
      {"aten.index_add.default", IndexAdd},
      {"aten.scatter_reduce.two", ScatterReduce},
      {"aten.bucketize.Tensor", Bucketize},
      {"aten.repeat_interleave.self_int", RepeatInterleave},
  };
}

}  // namespace tenon::lower
