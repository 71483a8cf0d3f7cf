// Sums, means, extrema and what is made of them.
#include <cmath>
#include <limits>
#include <numeric>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Over all dimensions: the kernel's None.
Rewritten SumAll(NodeRewrite& r) {
  return r.Become("aten.sum.dim_IntList",
                  {r.arg(0), Operand::List(ListTag::kInts, {})},
                  {{"dtype", r.arg(1)}});
}

// not any(not self ..): there is no kernel for all.
RewriteRule All(std::string_view any) {
  return [any](NodeRewrite& r) {
    const ValueId self = r.tensor(0);
    if (!self.valid() || r.result_type().dtype != DType::kBool) {
      return Rewritten::kSkip;
    }
    const ValueId inverse = r.build.Call("aten.logical_not.default", {self},
                                         r.build.TypeLike(self, DType::kBool));
    std::vector<Operand> args = r.FirstArgs(r.num_args());
    args[0] = inverse;
    const ValueId found =
        r.build.Call(any, std::move(args), r.build.TypeLike(r.result()));
    return r.Become("aten.logical_not.default", {found});
  };
}

// correction: how much less than the number of elements the divisor is.
ValueId VarianceOf(NodeRewrite& r, ValueId self, const Operand& dim,
                   const Operand& correction, const Operand& keepdim) {
  return r.build.Call(
      "aten.var.correction", {self, dim},
      {{"correction", correction}, {"keepdim", keepdim}},
      r.build.TypeLike(r.result(), r.program().type(self).dtype));
}
ValueId Variance(NodeRewrite& r, const Operand& dim, const Operand& correction,
                 const Operand& keepdim) {
  return VarianceOf(r, r.tensor(0), dim, correction, keepdim);
}
Operand Correction(bool unbiased) { return Operand::Int(unbiased ? 1 : 0); }

// A dtype in which squares of the other's numbers don't overflow.
DType Wider(DType dtype) {
  return dtype == DType::kFloat16 ? DType::kFloat32 : DType::kFloat64;
}

// The root of the variance, which may be too large for the dtype itself.
Rewritten Deviation(NodeRewrite& r, const Operand& dim,
                    const Operand& correction, const Operand& keepdim) {
  if (!r.tensor(0).valid() || !IsFloating(r.type(0).dtype)) {
    return Rewritten::kSkip;
  }
  const DType dtype = r.type(0).dtype;
  const ValueId wide = r.build.Cast(r.tensor(0), Wider(dtype));
  const ValueId variance = VarianceOf(r, wide, dim, correction, keepdim);
  const ValueId root =
      r.build.Call("aten.sqrt.default", {variance}, r.build.TypeLike(variance));
  return r.Done(r.build.Cast(root, dtype));
}

// (self, unbiased)
Rewritten VarAll(NodeRewrite& r) {
  return r.Done(Variance(r, Operand(), Correction(r.Bool(1, true)),
                         Operand::Bool(false)));
}
Rewritten StdAll(NodeRewrite& r) {
  return Deviation(r, Operand(), Correction(r.Bool(1, true)),
                   Operand::Bool(false));
}
// (self, dim, unbiased, keepdim)
Rewritten StdDim(NodeRewrite& r) {
  return Deviation(r, r.arg(1), Correction(r.Bool(2, true)), r.arg(3));
}
// (self, dim, correction, keepdim)
Rewritten StdCorrection(NodeRewrite& r) {
  return Deviation(r, r.arg(1), r.arg(2), r.arg(3));
}

// Variance and mean, each by its own kernel: both are wanted seldom.
Rewritten VarMean(NodeRewrite& r, const Operand& dim, const Operand& correction,
                  const Operand& keepdim) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  if (r.is_used(0)) r.Give(0, Variance(r, dim, correction, keepdim));
  if (r.is_used(1)) {
    r.Give(1, r.build.Call("aten.mean.dim", {r.arg(0), dim, keepdim},
                           r.build.TypeLike(r.result(1))));
  }
  return Rewritten::kDone;
}
Rewritten VarMeanDim(NodeRewrite& r) {
  return VarMean(r, r.arg(1), Correction(r.Bool(2, true)), r.arg(3));
}
Rewritten VarMeanAll(NodeRewrite& r) {
  return VarMean(r, Operand(), Correction(r.Bool(1, true)),
                 Operand::Bool(false));
}
Rewritten VarMeanCorrection(NodeRewrite& r) {
  return VarMean(r, r.arg(1), r.arg(2), r.arg(3));
}

// (self, dim, dtype)
RewriteRule Softmax(std::string_view kernel) {
  return [kernel](NodeRewrite& r) {
    if (!r.tensor(0).valid()) return Rewritten::kSkip;
    const ValueId self = r.build.Cast(r.tensor(0), r.result_type().dtype);
    return r.Become(kernel, {self, r.arg(1), Operand::Bool(false)});
  };
}
// Half to float in one: two kernels here.
Rewritten HalfToFloat(NodeRewrite& r) {
  if (!r.Bool(2) || !r.tensor(0).valid()) return Rewritten::kSkip;
  const ValueId self = r.build.Cast(r.tensor(0), r.result_type().dtype);
  return r.Become(r.program().op_name(r.node()),
                  {self, r.arg(1), Operand::Bool(false)});
}

// (self, dim, keepdim): log(sum(exp(self - max))) + max, where an infinite max
// counts as 0.
Rewritten LogSumExp(NodeRewrite& r) {
  const ValueId self = r.tensor(0);
  const auto dims = r.Ints(1);
  if (!self.valid() || !IsFloating(r.type(0).dtype) || !dims) {
    return Rewritten::kSkip;
  }
  const DType dtype = r.type(0).dtype;
  Shape kept = r.type(0).sizes;
  for (const int64_t d : *dims) {
    const auto at = FindDim(d, r.type(0).rank());
    // The largest of nothing isn't defined.
    if (!at || (kept[*at].is_literal() && kept[*at].value == 0)) {
      return Rewritten::kSkip;
    }
    kept[*at] = SymInt::Literal(1);
  }
  const TypeId reduced = r.build.TensorType(dtype, kept);
  const TypeId flags = r.build.TensorType(DType::kBool, kept);
  ValueId max = r.build.Call("aten.amax.default",
                             {self, r.arg(1), Operand::Bool(true)}, reduced);
  const ValueId is_infinite = r.build.Call("aten.isinf.default", {max}, flags);
  max = r.build.Call("aten.masked_fill.Scalar",
                     {max, is_infinite, Operand::Int(0)}, reduced);
  const TypeId whole = r.build.TypeLike(self);
  const ValueId exps = r.build.Call(
      "aten.exp.default", {r.build.Call("aten.sub.Tensor", {self, max}, whole)},
      whole);
  const ValueId sum = r.build.Call(
      "aten.sum.dim_IntList", {exps, r.arg(1), Operand::Bool(true)}, reduced);
  const ValueId log = r.build.Call("aten.log.default", {sum}, reduced);
  const ValueId out = r.build.Call("aten.add.Tensor", {log, max}, reduced);
  const auto shaped = r.build.Reshape(out, r.result_type().sizes);
  return shaped ? r.Done(*shaped) : Rewritten::kSkip;
}

// (self, ord, dim, keepdim, dtype)
Rewritten VectorNorm(NodeRewrite& r) {
  const auto order = r.Number(1);
  if (!r.tensor(0).valid() || !order || IsComplex(r.type(0).dtype) ||
      !IsFloating(r.result_type().dtype)) {
    return Rewritten::kSkip;
  }
  const ValueId self = r.build.Cast(r.tensor(0), r.result_type().dtype);
  const TypeId whole = r.build.TypeLike(self);
  const Operand dim = r.has(2) ? r.arg(2) : Operand::List(ListTag::kInts, {});
  if (*order == 2) {
    const ValueId square = r.build.Call("aten.mul.Tensor", {self, self}, whole);
    const ValueId sum =
        r.build.Call("aten.sum.dim_IntList", {square, dim, r.arg(3)},
                     r.build.TypeLike(r.result()));
    return r.Become("aten.sqrt.default", {sum});
  }
  const ValueId size = r.build.Call("aten.abs.default", {self}, whole);
  if (*order == 1) {
    return r.Become("aten.sum.dim_IntList", {size, dim, r.arg(3)});
  }
  if (*order == kInfinity) {
    return r.Become("aten.amax.default", {size, dim, r.arg(3)});
  }
  if (*order == -kInfinity) {
    return r.Become("aten.amin.default", {size, dim, r.arg(3)});
  }
  return Rewritten::kSkip;
}

// All elements in order of size: the first so many of them are all.
Rewritten SortBy(NodeRewrite& r, int64_t dim, bool descending) {
  if (!r.tensor(0).valid() || r.type(0).dtype == DType::kBool) {
    return Rewritten::kSkip;
  }
  const auto at = FindDim(dim, r.type(0).rank());
  if (!at) return Rewritten::kSkip;
  const Operand count = r.build.Size(r.tensor(0), static_cast<int64_t>(*at));
  return r.Become("aten.topk.default",
                  {r.arg(0), count, Operand::Int(dim),
                   Operand::Bool(descending), Operand::Bool(true)});
}
// (self, dim, descending); PyTorch promises no order of equal elements.
Rewritten Sort(NodeRewrite& r) {
  const auto dim = r.Int(1);
  return dim ? SortBy(r, *dim, r.Bool(2)) : Rewritten::kSkip;
}
// (self, stable, dim, descending): topk isn't stable, which shows in the
// indices only.
Rewritten SortStable(NodeRewrite& r) {
  const auto dim = r.Int(2);
  if (!dim || (r.Bool(1) && r.is_used(1))) return Rewritten::kSkip;
  return SortBy(r, *dim, r.Bool(3));
}

// self[1:] - self[:-1] along a dimension, n times; before that `prepend` and
// `append` are joined to it.
Rewritten Diff(NodeRewrite& r) {
  const auto n = r.Int(1), dim = r.Int(2);
  if (!r.tensor(0).valid() || !n || *n < 1 || *n > 16 || !dim ||
      r.type(0).dtype == DType::kBool || !FindDim(*dim, r.type(0).rank()) ||
      r.result_type().rank() != r.type(0).rank()) {
    return Rewritten::kSkip;
  }
  const size_t at = *FindDim(*dim, r.type(0).rank());
  const DType dtype = r.type(0).dtype;
  std::vector<ValueId> parts = {r.tensor(0)};
  if (r.tensor(3).valid()) parts.insert(parts.begin(), r.tensor(3));
  if (r.tensor(4).valid()) parts.push_back(r.tensor(4));
  Shape sizes = r.type(0).sizes;
  for (const ValueId part : parts) {
    if (r.program().type(part).dtype != dtype ||
        r.program().type(part).rank() != r.type(0).rank()) {
      return Rewritten::kSkip;
    }
    if (part != r.tensor(0)) {
      sizes[at] = r.build.SumOf(sizes[at], r.program().type(part).sizes[at]);
    }
  }
  const Operand along = Operand::Int(static_cast<int64_t>(at));
  ValueId v = parts[0];
  if (parts.size() > 1) {
    v = r.build.Call("aten.cat.default", {Operand::Tensors(parts), along},
                     r.build.TensorType(dtype, sizes));
  }
  for (int64_t i = 0; i < *n; ++i) {
    sizes[at] = i + 1 == *n ? r.result_type().sizes[at]
                            : r.build.SumOf(sizes[at], SymInt::Literal(-1));
    const TypeId type = r.build.TensorType(dtype, sizes);
    const auto part = [&](int64_t begin, int64_t end) {
      return r.build.Call(
          "aten.slice_copy.Tensor",
          {v, along, Operand::Int(begin), Operand::Int(end), Operand::Int(1)},
          type);
    };
    const ValueId later = part(1, INT64_MAX), earlier = part(0, -1);
    v = r.build.Call("aten.sub.Tensor", {later, earlier}, type);
  }
  return r.Done(v);
}

}  // namespace

std::vector<RuleRow> ReductionRules() {
  return {
      {"aten.sum.default", SumAll},
      {"aten.all.default", All("aten.any.default")},
      {"aten.all.dim", All("aten.any.dim")},
      {"aten.all.dims", All("aten.any.dims")},
      {"aten.var.default", VarAll},
      {"aten.std.default", StdAll},
      {"aten.std.dim", StdDim},
      {"aten.std.correction", StdCorrection},
      {"aten.var_mean.default", VarMeanAll},
      {"aten.var_mean.dim", VarMeanDim},
      {"aten.var_mean.correction", VarMeanCorrection},
      {"aten.softmax.int", Softmax("aten._softmax.default")},
      {"aten.log_softmax.int", Softmax("aten._log_softmax.default")},
      {"aten._softmax.default", HalfToFloat},
      {"aten._log_softmax.default", HalfToFloat},
      {"aten.logsumexp.default", LogSumExp},
      {"aten.linalg_vector_norm.default", VectorNorm},
      {"aten.sort.default", Sort},
      {"aten.sort.stable", SortStable},
      {"aten.diff.default", Diff},
  };
}

}  // namespace tenon::lower
