// Views that keep all elements: other sizes, another order of dimensions.
#include <algorithm>
#include <array>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// self viewed with the sizes of argument 1, one of which may be -1.
void View(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const Arg* list = call.Get(1);
  if (self == nullptr || list == nullptr || list->kind != ArgKind::kList)
    return;
  const auto items = call.Items(1);
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(items.size()));
  if (out.rank < 0) return;
  int open = -1;
  SizeProduct part;
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = call.Size(items[d]);
    if (out.sizes[d].is_literal(-1)) {
      out.sizes[d] = InferredSize::Unknown();
      open = d;
    } else {
      part.Times(out.sizes[d]);
    }
  }
  if (open < 0) return;
  out.sizes[open] = NumElements(*self).Missing(part);
}

void LikeOther(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const Type* other = call.Tensor(1);
  if (self != nullptr && other != nullptr) call.AddLike(*other, self->dtype);
}

void Permute(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto items = call.Items(1);
  if (self == nullptr || items.size() != self->sizes.size()) return;
  InferredType& out = call.AddLike(*self);
  for (int d = 0; d < out.rank; ++d) {
    const auto from = items[d].kind == ArgKind::kInt
                          ? WrapDim(items[d].i, out.rank)
                          : std::nullopt;
    out.sizes[d] =
        from ? InferredSize::Of(self->sizes[*from]) : InferredSize::Unknown();
  }
}

void SwapTwo(InferCall& call, std::optional<int64_t> a,
             std::optional<int64_t> b) {
  const Type* self = call.Self();
  if (self == nullptr) return;
  InferredType& out = call.AddLike(*self);
  if (out.rank < 2) return;
  const auto x = a ? WrapDim(*a, out.rank) : std::nullopt;
  const auto y = b ? WrapDim(*b, out.rank) : std::nullopt;
  if (x && y) {
    std::swap(out.sizes[*x], out.sizes[*y]);
  } else {
    for (int d = 0; d < out.rank; ++d) out.sizes[d] = InferredSize::Unknown();
  }
}

void Transpose(InferCall& call, uint32_t) {
  SwapTwo(call, call.Int(1), call.Int(2));
}

void SwapLast(InferCall& call, uint32_t) { SwapTwo(call, -1, -2); }

void MoveDim(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto source = call.Int(1), destination = call.Int(2);
  if (self == nullptr || !source || !destination) return;
  const auto from = WrapDim(*source, self->rank());
  const auto to = WrapDim(*destination, self->rank());
  if (!from || !to) return;
  InferredType& out = call.AddLike(*self);
  const InferredSize moved = out.sizes[*from];
  for (int d = *from; d + 1 < out.rank; ++d) out.sizes[d] = out.sizes[d + 1];
  for (int d = out.rank - 1; d > *to; --d) out.sizes[d] = out.sizes[d - 1];
  out.sizes[*to] = moved;
}

void Unsqueeze(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim = call.Int(1);
  if (self == nullptr || !dim || self->rank() >= InferredType::kMaxRank) return;
  const auto at = WrapDim(*dim, self->rank() + 1);
  if (!at) return;
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(self->rank()) + 1);
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = d == *at ? InferredSize::Literal(1)
                            : InferredSize::Of(self->sizes[d - (d > *at)]);
  }
}

// Dims of argument 1 (absent: all) go if their size is 1.
void Squeeze(InferCall& call, uint32_t parameter) {
  const Type* self = call.Self();
  if (self == nullptr) return;
  uint32_t chosen = 0;
  if (parameter == 0) {
    chosen = ~0u;
  } else {
    const Arg* dim = call.Get(1);
    const auto add = [&](const Arg& a) {
      const auto d =
          a.kind == ArgKind::kInt ? WrapDim(a.i, self->rank()) : std::nullopt;
      if (d) chosen |= 1u << *d;
      return d.has_value();
    };
    if (dim == nullptr) return;
    if (self->rank() == 0) {
      call.AddLike(*self);
      return;
    }
    if (dim->kind == ArgKind::kList) {
      for (const Arg& item : call.Items(1)) {
        if (!add(item)) return;
      }
    } else if (!add(*dim)) {
      return;
    }
  }
  InferredType& out = call.AddTensor(self->dtype, 0);
  for (int d = 0; d < self->rank(); ++d) {
    const InferredSize size = InferredSize::Of(self->sizes[d]);
    if (chosen >> d & 1) {
      if (size.is_literal(1)) continue;
      if (!size.is_literal()) {  // may be 1
        out.rank = -1;
        return;
      }
    }
    out.sizes[out.rank++] = size;
  }
}

void Expand(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto items = call.Items(1);
  if (self == nullptr || items.size() < self->sizes.size()) return;
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(items.size()));
  const size_t added = items.size() - self->sizes.size();
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = call.Size(items[d]);
    if (!out.sizes[d].is_literal(-1)) continue;
    const size_t at = static_cast<size_t>(d);
    out.sizes[d] = at >= added ? InferredSize::Of(self->sizes[at - added])
                               : InferredSize::Unknown();
  }
}

void Flatten(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto start = call.Int(1), end = call.Int(2);
  if (self == nullptr || !start || !end) return;
  if (self->rank() == 0) {
    call.AddTensor(self->dtype, 1).sizes[0] = InferredSize::Literal(1);
    return;
  }
  const auto first = WrapDim(*start, self->rank());
  const auto last = WrapDim(*end, self->rank());
  if (!first || !last || *first > *last) return;
  InferredType& out = call.AddTensor(self->dtype, 0);
  for (int d = 0; d < *first; ++d) {
    out.sizes[out.rank++] = InferredSize::Of(self->sizes[d]);
  }
  SizeProduct product;
  for (int d = *first; d <= *last; ++d) {
    product.Times(InferredSize::Of(self->sizes[d]));
  }
  out.sizes[out.rank++] = product.AsSize();
  for (int d = *last + 1; d < self->rank(); ++d) {
    out.sizes[out.rank++] = InferredSize::Of(self->sizes[d]);
  }
}

void AsStrided(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const auto items = call.Items(1);
  if (self == nullptr || items.size() > InferredType::kMaxRank) return;
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(items.size()));
  for (int d = 0; d < out.rank; ++d) out.sizes[d] = call.Size(items[d]);
}

// Dimension `dim` becomes several, one of which may be -1.
void Unflatten(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim = call.Int(1);
  const auto sizes = call.Sizes(2);
  if (self == nullptr || !dim || !sizes) return;
  const auto at = WrapDim(*dim, self->rank());
  const size_t rank = self->sizes.size() + sizes->size() - 1;
  if (!at || rank > InferredType::kMaxRank) return;
  InferredType& out = call.AddTensor(self->dtype, 0);
  SizeProduct part, whole;
  whole.Times(SizeAt(*self, *at));
  for (const InferredSize& s : *sizes) {
    if (!s.is_literal(-1)) part.Times(s);
  }
  for (int d = 0; d < self->rank(); ++d) {
    if (d != *at) {
      out.sizes[out.rank++] = SizeAt(*self, d);
      continue;
    }
    for (const InferredSize& s : *sizes) {
      out.sizes[out.rank++] = s.is_literal(-1) ? whole.Missing(part) : s;
    }
  }
}

void Ravel(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  call.AddTensor(self->dtype, 1).sizes[0] = NumElements(*self).AsSize();
}

void ReverseDims(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr) return;
  InferredType& out = call.AddLike(*self);
  std::reverse(out.sizes.begin(), out.sizes.begin() + out.rank);
}

// A quarter turn swaps the plane's dimensions, a half turn doesn't.
void Rotate(InferCall& call, uint32_t) {
  const auto k = call.Int(1);
  const auto dims = call.Ints(2);
  if (call.Self() == nullptr) return;
  if (k && *k % 2 == 0) {
    call.AddLike(*call.Self());
  } else if (k && dims && dims->size() == 2) {
    SwapTwo(call, (*dims)[0], (*dims)[1]);
  } else {
    SwapTwo(call, std::nullopt, std::nullopt);
  }
}

// Dimensions of argument 1 go to the places of argument 2, the others keep
// their order.
void MoveDims(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto source = call.Ints(1), destination = call.Ints(2);
  if (self == nullptr || !source || !destination ||
      source->size() != destination->size()) {
    return;
  }
  std::array<int, InferredType::kMaxRank> from;
  from.fill(-1);
  uint32_t moved = 0;
  for (size_t i = 0; i < source->size(); ++i) {
    const auto s = WrapDim((*source)[i], self->rank());
    const auto d = WrapDim((*destination)[i], self->rank());
    if (!s || !d || from[*d] >= 0 || moved >> *s & 1) return;
    from[*d] = *s;
    moved |= 1u << *s;
  }
  InferredType& out = call.AddLike(*self);
  int next = 0;
  for (int d = 0; d < out.rank; ++d) {
    if (from[d] >= 0) {
      out.sizes[d] = SizeAt(*self, from[d]);
      continue;
    }
    while (moved >> next & 1) ++next;
    out.sizes[d] = SizeAt(*self, next++);
  }
}

// Windows of a dimension; each stands in a last, additional one.
void Unfold(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim = call.Int(1), size = call.Int(2), step = call.Int(3);
  if (self == nullptr || !dim || call.Get(2) == nullptr ||
      self->rank() >= InferredType::kMaxRank) {
    return;
  }
  InferredType& out = call.AddLike(*self);
  const InferredSize window = call.Size(*call.Get(2));
  if (out.rank > 0) {
    const auto at = WrapDim(*dim, out.rank);
    if (!at) {
      out.rank = -1;
      return;
    }
    WindowShape w;
    w.kernel = size.value_or(0);
    w.stride = step.value_or(0);
    // A window of no element stands before and after each.
    const bool is_empty = size == 0;
    if (is_empty) w.kernel = 1;
    InferredSize& count = out.sizes[*at];
    count =
        NumWindows(is_empty ? Plus(count, InferredSize::Literal(1)) : count, w);
  }
  out.sizes[out.rank++] = window;
}

// At least `least` dimensions: 1 stands for what is missing.
InferredType AtLeast(const Type& type, uint32_t least) {
  InferredType out = KnownType(type);
  if (out.rank < 0 || out.rank >= static_cast<int>(least)) return out;
  const InferredSize one = InferredSize::Literal(1);
  if (least > 1 && out.rank == 1) {  // a row
    out.sizes[1] = out.sizes[0];
    out.sizes[0] = one;
    out.rank = 2;
  }
  while (out.rank < static_cast<int>(least)) out.sizes[out.rank++] = one;
  return out;
}

void WithAtLeast(InferCall& call, uint32_t least) {
  if (const Type* self = call.Tensor(0)) call.Add(AtLeast(*self, least));
}

void EachWithAtLeast(InferCall& call, uint32_t least) {
  for (const Arg& item : call.Items(0)) {
    const Type* t = call.TensorOf(&item);
    if (t == nullptr) return;
    call.Add(AtLeast(*t, least));
  }
}

// All tensors of the list get the sizes that they broadcast to.
void BroadcastEach(InferCall& call, uint32_t) {
  InferredType all;
  all.rank = 0;
  for (const Arg& item : call.Items(0)) {
    const Type* t = call.TensorOf(&item);
    if (t == nullptr) return;
    BroadcastInto(*t, &all);
  }
  for (const Arg& item : call.Items(0)) {
    const DType dtype = call.TensorOf(&item)->dtype;
    InferredType& out = call.Add(all);
    out.has_kind = true;
    out.kind = TypeKind::kTensor;
    out.dtype = dtype;
  }
}

// Sums over what is broadcast in self, so that these sizes are left.
void SumToSize(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto sizes = call.Sizes(1);
  if (self == nullptr || !sizes || sizes->size() > self->sizes.size()) return;
  const int64_t added = self->rank() - static_cast<int64_t>(sizes->size());
  bool is_summed = sizes->empty() || added > 0, is_same = !is_summed;
  InferredType& out =
      call.AddTensor(self->dtype, static_cast<int>(sizes->size()));
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = (*sizes)[static_cast<size_t>(d)];
    const InferredSize before = SizeAt(*self, d + added);
    is_summed = is_summed || Differ(before, out.sizes[d]);
    is_same = is_same && AreEqual(before, out.sizes[d]);
  }
  // The sum of integers is int64.
  const bool is_integer = ToFloating(self->dtype) != self->dtype;
  if (is_integer && is_summed) out.dtype = DType::kInt64;
  if (is_integer && !is_summed && !is_same && self->dtype != DType::kInt64) {
    out.dtype = DType::kUnknown;
  }
}

// Takes the type of something else: what it wrote isn't what it was.
void Nothing(InferCall&, uint32_t) {}

constexpr InferRow kRows[] = {
    {"aten.view.default", View},
    {"aten.reshape.default", View},
    {"aten._unsafe_view.default", View},
    {"aten.view_copy.default", View},
    {"aten.view_as.default", LikeOther},
    {"aten.reshape_as.default", LikeOther},
    {"aten.expand_as.default", LikeOther},
    {"aten.permute.default", Permute},
    {"aten.permute_copy.default", Permute},
    {"aten.transpose.int", Transpose},
    {"aten.transpose_.default", Transpose},
    {"aten.swapaxes_.default", Transpose},
    {"aten.swapdims_.default", Transpose},
    {"aten.transpose_copy.int", Transpose},
    {"aten.swapaxes.default", Transpose},
    {"aten.t.default", SwapLast},
    {"aten.t_.default", SwapLast},
    {"aten.mT.default", SwapLast},
    {"aten.movedim.int", MoveDim},
    {"aten.unsqueeze.default", Unsqueeze},
    {"aten.unsqueeze_.default", Unsqueeze},
    {"aten.unsqueeze_copy.default", Unsqueeze},
    {"aten.squeeze.default", Squeeze, 0},
    {"aten.squeeze.dim", Squeeze, 1},
    {"aten.squeeze.dims", Squeeze, 1},
    {"aten.squeeze_.default", Squeeze, 0},
    {"aten.squeeze_.dim", Squeeze, 1},
    {"aten.squeeze_.dims", Squeeze, 1},
    {"aten.expand.default", Expand},
    {"aten.broadcast_to.default", Expand},
    {"aten.broadcast_tensors.default", BroadcastEach},
    {"aten.sum_to_size.default", SumToSize},
    {"aten.unflatten.int", Unflatten},
    {"aten.ravel.default", Ravel},
    {"aten.numpy_T.default", ReverseDims},
    {"aten.mH.default", SwapLast},
    {"aten.matrix_H.default", SwapLast},
    {"aten.t_copy.default", SwapLast},
    {"aten.rot90.default", Rotate},
    {"aten.movedim.intlist", MoveDims},
    {"aten.unfold.default", Unfold},
    {"aten.unfold_copy.default", Unfold},
    {"aten.atleast_1d.default", WithAtLeast, 1},
    {"aten.atleast_2d.default", WithAtLeast, 2},
    {"aten.atleast_3d.default", WithAtLeast, 3},
    {"aten.atleast_1d.Sequence", EachWithAtLeast, 1},
    {"aten.atleast_2d.Sequence", EachWithAtLeast, 2},
    {"aten.atleast_3d.Sequence", EachWithAtLeast, 3},
    {"aten.flip.default", LikeArguments, LikeArg(0)},
    {"aten.flipud.default", LikeArguments, LikeArg(0)},
    {"aten.fliplr.default", LikeArguments, LikeArg(0)},
    {"aten.roll.default", LikeArguments, LikeArg(0)},
    {"aten.channel_shuffle.default", LikeArguments, LikeArg(0)},
    {"aten.squeeze_copy.default", Squeeze, 0},
    {"aten.squeeze_copy.dim", Squeeze, 1},
    {"aten.squeeze_copy.dims", Squeeze, 1},
    {"aten.as_strided_copy.default", AsStrided},
    {"aten.expand_copy.default", Expand},
    {"aten.flatten.using_ints", Flatten},
    {"aten.as_strided.default", AsStrided},
    {"aten.as_strided_.default", AsStrided},
    {"aten.resize_.default", AsStrided},
    {"aten.resize_as_.default", LikeOther},
    {"aten.set_.default", Nothing},
    {"aten.set_.source_Tensor", Nothing},
    {"aten.set_.source_Tensor_storage_offset", Nothing},
};

}  // namespace

std::span<const InferRow> ViewRows() { return kRows; }

}  // namespace tenon
