// Operators that show the same elements in another way.
//
// Where the order of elements stays, the result is a view_copy, which costs
// nothing once memory is planned; where it doesn't, one kernel copies.
#include <algorithm>
#include <numeric>

#include "lower/rewrite_rules.h"
#include "support/checked.h"

namespace tenon::lower {
namespace {

// The elements in order, in the sizes that the result has.
Rewritten Reshape(NodeRewrite& r) {
  const ValueId self = r.tensor(0);
  if (!self.valid()) return Rewritten::kSkip;
  const auto out = r.build.Reshape(self, r.result_type().sizes);
  return out ? r.Done(*out) : Rewritten::kSkip;
}

// The same, with the sizes as the call passes them: they may be computed.
Rewritten View(NodeRewrite& r) {
  const ValueId self = r.tensor(0);
  if (!self.valid() || !r.arg(1).is_list) return Rewritten::kSkip;
  if (const auto out = r.build.Reshape(self, r.result_type().sizes)) {
    return r.Done(*out);
  }
  return r.Become("aten.view_copy.default", {self, r.arg(1)});
}

Rewritten Same(NodeRewrite& r) {
  return r.tensor(0).valid() ? r.Done(r.tensor(0)) : Rewritten::kSkip;
}

Rewritten Permuted(NodeRewrite& r, std::vector<int64_t> dims) {
  return r.Done(r.build.Permute(r.tensor(0), dims));
}

Rewritten MoveDim(NodeRewrite& r) {
  const ValueId self = r.tensor(0);
  if (!self.valid()) return Rewritten::kSkip;
  const int64_t rank = r.type(0).rank();
  const auto from = r.Ints(1, 1), to = r.Ints(2, 1);
  if (!from || !to || from->size() != to->size()) return Rewritten::kSkip;
  std::vector<int64_t> order(static_cast<size_t>(rank), -1);
  std::vector<bool> is_moved(static_cast<size_t>(rank), false);
  for (size_t i = 0; i < from->size(); ++i) {
    const auto f = FindDim((*from)[i], rank), t = FindDim((*to)[i], rank);
    if (!f || !t || is_moved[*f] || order[*t] >= 0) return Rewritten::kSkip;
    order[*t] = static_cast<int64_t>(*f);
    is_moved[*f] = true;
  }
  int64_t next = 0;
  for (int64_t& o : order) {
    if (o >= 0) continue;
    while (is_moved[next]) ++next;
    o = next++;
  }
  return Permuted(r, std::move(order));
}

// self.mT, self.mH, numpy's T.
Rewritten SwapLast(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  const int64_t rank = r.type(0).rank();
  if (rank < 2) return Rewritten::kSkip;
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  std::swap(dims[rank - 1], dims[rank - 2]);
  return Permuted(r, std::move(dims));
}

// -1 among the sizes means: as it is.
Rewritten Expand(NodeRewrite& r) {
  const ValueId self = r.tensor(0);
  if (!self.valid()) return Rewritten::kSkip;
  const Type& to = r.result_type();
  if (r.type(0).sizes == to.sizes) return r.Done(self);
  return r.Become("aten.expand_copy.default", {self, r.arg(1)});
}

Rewritten ExpandAs(NodeRewrite& r) {
  const ValueId self = r.tensor(0), other = r.tensor(1);
  if (!self.valid() || !other.valid()) return Rewritten::kSkip;
  const Shape sizes = r.result_type().sizes;
  if (r.type(0).sizes == sizes) return r.Done(self);
  const auto list = r.build.Sizes(sizes, {{other}});
  if (!list) return Rewritten::kSkip;
  return r.Become("aten.expand_copy.default", {self, *list});
}

// self.narrow(dim, start, length) is self[start : start + length].
Rewritten Narrow(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  const Operand end = r.build.AddInts(r.arg(2), r.arg(3));
  return r.Become("aten.slice_copy.Tensor",
                  {r.arg(0), r.arg(1), r.arg(2), end, Operand::Int(1)});
}

// A slice of everything is the tensor; the runtime's bounds are int64 as well.
Rewritten Slice(NodeRewrite& r) {
  const auto start = r.Int(2), step = r.Int(4);
  const bool from_start = !r.has(2) || (start && *start == 0);
  if (from_start && step && *step == 1 && r.tensor(0).valid() &&
      r.type(0).sizes == r.result_type().sizes) {
    return r.Done(r.tensor(0));
  }
  return r.Become("aten.slice_copy.Tensor", r.FirstArgs(5));
}

// Parts of given sizes along a dimension.
Rewritten SplitInto(NodeRewrite& r, int64_t dim) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  std::vector<Operand> sizes;
  const int64_t rank = r.type(0).rank();
  const auto at = FindDim(dim, rank);
  if (!at) return Rewritten::kSkip;
  for (size_t i = 0; i < r.num_results(); ++i) {
    if (r.result_type(i).rank() != rank) return Rewritten::kSkip;
    const SymInt size = r.result_type(i).sizes[*at];
    if (!size.is_literal()) return Rewritten::kSkip;
    sizes.push_back(Operand::Int(size.value));
  }
  if (r.num_results() == 1) {
    return r.Done(r.tensor(0));
  }
  return r.Become(
      "aten.split_with_sizes_copy.default",
      {r.arg(0), Operand::List(ListTag::kInts, sizes), Operand::Int(dim)});
}

Rewritten Split(NodeRewrite& r) {
  const auto dim = r.Int(2);
  if (!dim) return Rewritten::kSkip;
  return SplitInto(r, *dim);
}

Rewritten Unbind(NodeRewrite& r) {
  const auto dim = r.Int(1);
  if (!dim || !r.tensor(0).valid()) return Rewritten::kSkip;
  for (size_t i = 0; i < r.num_results(); ++i) {
    if (!r.is_used(i)) continue;
    r.Give(i, r.build.Call("aten.select_copy.int",
                           {r.arg(0), Operand::Int(*dim),
                            Operand::Int(static_cast<int64_t>(i))},
                           r.build.TypeLike(r.result(i))));
  }
  return Rewritten::kDone;
}

// A permutation that moves only dimensions of size 1 keeps the order of
// elements: what follows is a view of it.
Rewritten PermuteOnes(NodeRewrite& r, const std::vector<int64_t>& dims) {
  const Type& type = r.type(0);
  int64_t last = -1;
  for (const int64_t d : dims) {
    const SymInt& size = type.sizes[static_cast<size_t>(d)];
    if (size.is_literal() && size.value == 1) continue;
    if (d < last) return Rewritten::kSkip;
    last = d;
  }
  return Reshape(r);
}

Rewritten PermuteCopy(NodeRewrite& r) {
  auto dims = r.Ints(1);
  if (!dims || !r.tensor(0).valid()) return Rewritten::kSkip;
  for (int64_t& d : *dims) {
    const auto at = FindDim(d, r.type(0).rank());
    if (!at) return Rewritten::kSkip;
    d = static_cast<int64_t>(*at);
  }
  return PermuteOnes(r, *dims);
}

Rewritten TransposeCopy(NodeRewrite& r) {
  const auto a = r.Int(1), b = r.Int(2);
  if (!a || !b || !r.tensor(0).valid()) return Rewritten::kSkip;
  const int64_t rank = r.type(0).rank();
  if (rank == 0) return Same(r);
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  const auto first = FindDim(*a, rank), second = FindDim(*b, rank);
  if (!first || !second) return Rewritten::kSkip;
  std::swap(dims[*first], dims[*second]);
  return PermuteOnes(r, dims);
}

Rewritten TransposeT(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  return r.type(0).rank() < 2 ? Same(r) : Rewritten::kSkip;
}

// What strides mean depends on how the tensor lies: only in order, from its
// storage's begin, is a copy of it the same. Nor may they lead out of it.
Rewritten AsStrided(NodeRewrite& r) {
  const ValueId self = r.tensor(0);
  const auto sizes = r.Ints(1), strides = r.Ints(2);
  const auto offset = r.has(3) ? r.Int(3) : std::optional<int64_t>(0);
  if (!self.valid() || !sizes || !strides || !offset || *offset < 0 ||
      sizes->size() != strides->size() || !r.type(0).has_static_sizes() ||
      !r.type(0).storage_offset.is_literal() ||
      r.type(0).storage_offset.value != 0 ||
      !IsContiguous(r.type(0), &r.program().context())) {
    return Rewritten::kSkip;
  }
  std::optional<int64_t> last = *offset;
  for (size_t d = 0; d < sizes->size(); ++d) {
    if ((*sizes)[d] < 1 || (*strides)[d] < 0) return Rewritten::kSkip;
    const auto reach = CheckedMul((*sizes)[d] - 1, (*strides)[d]);
    last = last && reach ? CheckedAdd(*last, *reach) : std::nullopt;
  }
  int64_t count = 1;
  for (const SymInt& s : r.type(0).sizes) {
    count = CheckedMul(count, s.value).value_or(0);
  }
  if (!last || *last >= count) return Rewritten::kSkip;
  return r.Become("aten.as_strided_copy.default", r.FirstArgs(4));
}

// A copy of what nobody can write.
Rewritten Clone(NodeRewrite& r) { return Same(r); }

}  // namespace

std::vector<RuleRow> ViewRules() {
  return {
      {"aten.view.default", View},
      {"aten._unsafe_view.default", View},
      {"aten.reshape.default", View},
      {"aten.view_as.default", Reshape},
      {"aten.unsqueeze.default", Reshape},
      {"aten.unsqueeze_copy.default", Reshape},
      {"aten.squeeze.default", Reshape},
      {"aten.squeeze.dim", Reshape},
      {"aten.squeeze.dims", Reshape},
      {"aten.squeeze_copy.dim", Reshape},
      {"aten.squeeze_copy.dims", Reshape},
      {"aten.flatten.using_ints", Reshape},
      {"aten.unflatten.int", Reshape},
      {"aten.alias.default", Same},
      {"aten.alias_copy.default", Same},
      {"aten.detach.default", Same},
      {"aten.detach_.default", Same},
      {"aten.detach_copy.default", Same},
      {"aten.lift_fresh.default", Same},
      {"aten.lift_fresh_copy.default", Same},
      {"aten.contiguous.default", Same},
      {"aten.clone.default", Clone},
      {"aten.expand.default", Expand},
      {"aten.expand_as.default", ExpandAs},
      {"aten.movedim.int", MoveDim},
      {"aten.movedim.intlist", MoveDim},
      {"aten.mT.default", SwapLast},
      {"aten.adjoint.default", SwapLast},
      {"aten.narrow.default", Narrow},
      {"aten.as_strided.default", AsStrided},
      {"aten.slice.Tensor", Slice},
      {"aten.split.Tensor", Split},
      {"aten.chunk.default", Split},
      {"aten.unbind.int", Unbind},
      {"aten.permute_copy.default", PermuteCopy},
      {"aten.transpose_copy.int", TransposeCopy},
      {"aten.t_copy.default", TransposeT},
  };
}

}  // namespace tenon::lower
