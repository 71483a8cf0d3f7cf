// Reading and writing by index, and scalars read from tensors.
#include <algorithm>
#include <vector>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// What stands at a dimension of self: an index, or nothing.
struct Slot {
  bool is_indexed = false;
  InferredType index;
};

// A mask takes as many dimensions as it has, each by as many indices as it has
// true elements. nullopt when an item can't be told.
std::optional<std::vector<Slot>> SlotsOf(const InferCall& call, size_t at) {
  std::vector<Slot> out;
  for (const Arg& item : call.Items(at)) {
    Slot slot;
    if (item.kind == ArgKind::kNone) {
      out.push_back(slot);
      continue;
    }
    const Type* t = call.TensorOf(&item);
    if (t == nullptr) return std::nullopt;
    slot.is_indexed = true;
    slot.index = KnownType(*t);
    int64_t taken = 1;
    if (t->dtype == DType::kBool || t->dtype == DType::kUInt8) {
      taken = t->rank();
      slot.index.rank = 1;
      slot.index.sizes[0] = InferredSize::Unknown();
      if (taken == 0) return std::nullopt;
    } else if (t->dtype == DType::kUnknown) {
      return std::nullopt;
    }
    out.insert(out.end(), static_cast<size_t>(taken), slot);
  }
  return out;
}

// Broadcasts what is known of one shape into another.
void BroadcastInto(const InferredType& from, InferredType* to) {
  if (from.rank < 0 || to->rank < 0) {
    to->rank = -1;
    return;
  }
  const int rank = std::max(from.rank, to->rank);
  InferredType out = *to;
  out.rank = rank;
  const auto size = [rank](const InferredType& t, int d) {
    const int at = d - (rank - t.rank);
    return at < 0 ? InferredSize::Literal(1) : t.sizes[at];
  };
  for (int d = 0; d < rank; ++d) {
    out.sizes[d] = BroadcastSize(size(from, d), size(*to, d));
  }
  *to = out;
}

// self[i, :, j, ...]: indexed dimensions give way to the indices' broadcast
// sizes; these stand first unless the indexed dimensions are adjacent.
// `parameter`: where the indices stand.
void Index(InferCall& call, uint32_t parameter) {
  const Type* self = call.Self();
  const auto slots = SlotsOf(call, parameter);
  if (self == nullptr || call.Items(parameter).empty()) return;
  InferredType& out = call.AddTensor(self->dtype, 0);
  InferredType indexed;
  indexed.rank = 0;
  int first = -1, last = -1, num_indexed = 0;
  for (size_t i = 0; slots && i < slots->size(); ++i) {
    if (!(*slots)[i].is_indexed) continue;
    BroadcastInto((*slots)[i].index, &indexed);
    if (first < 0) first = static_cast<int>(i);
    last = static_cast<int>(i);
    ++num_indexed;
  }
  if (!slots || slots->size() > self->sizes.size() || num_indexed == 0 ||
      indexed.rank < 0 ||
      self->rank() - num_indexed + indexed.rank > InferredType::kMaxRank) {
    out.rank = -1;
    return;
  }
  const bool is_adjacent = last - first + 1 == num_indexed;
  const auto add_indexed = [&] {
    for (int d = 0; d < indexed.rank; ++d) {
      out.sizes[out.rank++] = indexed.sizes[d];
    }
  };
  if (!is_adjacent) add_indexed();
  for (int d = 0; d < self->rank(); ++d) {
    if (is_adjacent && d == first) add_indexed();
    const auto at = static_cast<size_t>(d);
    const bool is_indexed = at < slots->size() && (*slots)[at].is_indexed;
    if (!is_indexed) out.sizes[out.rank++] = SizeAt(*self, d);
  }
}

// The same with argument 1, a mask, broadcast over the result.
void MaskedIndex(InferCall& call, uint32_t) {
  Index(call, 2);
  const Type* mask = call.Tensor(1);
  if (call.num_added() == 0) return;
  if (mask == nullptr) {
    call.last().rank = -1;
  } else {
    BroadcastInto(*mask, &call.last());
  }
}

void IndexSelect(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const Type* index = call.Tensor(2);
  const auto dim = call.Int(1);
  if (self == nullptr || index == nullptr || !dim) return;
  InferredType& out = call.AddLike(*self);
  const auto d = WrapDim(*dim, out.rank);
  if (d && index->rank() <= 1) {
    out.sizes[*d] =
        index->rank() == 0 ? InferredSize::Literal(1) : SizeAt(*index, 0);
  } else {
    out.rank = self->rank() == 0 ? 0 : -1;
  }
}

// Sizes of the index, dtype of self.
void Gather(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const Type* index = call.Tensor(2);
  if (self != nullptr && index != nullptr) call.AddLike(*index, self->dtype);
}

// The sizes that both broadcast to.
void LikeSelfAndMask(InferCall& call, uint32_t) {
  const Type *self = call.Tensor(0), *mask = call.Tensor(1);
  if (self == nullptr || mask == nullptr) return;
  BroadcastInto(*mask, &call.AddLike(*self));
}

void Embedding(InferCall& call, uint32_t) {
  const Type* weight = call.Tensor(0);
  const Type* indices = call.Tensor(1);
  if (weight == nullptr || indices == nullptr || weight->rank() != 2 ||
      indices->rank() >= InferredType::kMaxRank) {
    return;
  }
  InferredType& out = call.AddLike(*indices, weight->dtype);
  out.sizes[out.rank++] = InferredSize::Of(weight->sizes[1]);
}

void SymbolicInt(InferCall& call, uint32_t) { call.AddKind(TypeKind::kSymInt); }

// The index flat, or broadcast but for the dimension along which it is taken.
void TakeAlongDim(InferCall& call, uint32_t) {
  const Type *self = call.Self(), *indices = call.Tensor(1);
  if (self == nullptr || indices == nullptr) return;
  if (!call.Has(2)) {
    call.AddTensor(self->dtype, 1).sizes[0] = NumElements(*indices).AsSize();
    return;
  }
  const auto dim = call.Int(2);
  const auto d = dim ? WrapDim(*dim, self->rank()) : std::nullopt;
  if (!d || indices->rank() != self->rank()) return;
  InferredType& out = call.AddLike(*self);
  BroadcastInto(*indices, &out);
  out.sizes[*d] = SizeAt(*indices, *d);
}

void Take(InferCall& call, uint32_t) {
  const Type *self = call.Tensor(0), *index = call.Tensor(1);
  if (self != nullptr && index != nullptr) call.AddLike(*index, self->dtype);
}

void SymbolicBool(InferCall& call, uint32_t) {
  call.AddKind(TypeKind::kSymBool);
}

// A number of self's dtype.
void Item(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  if (self->dtype == DType::kBool) {
    call.AddKind(TypeKind::kSymBool);
  } else if (IsIntegral(self->dtype)) {
    call.AddKind(TypeKind::kSymInt);
  } else if (IsFloating(self->dtype)) {
    call.AddKind(TypeKind::kSymFloat);
  }
}

constexpr InferRow kRows[] = {
    {"aten.index.Tensor", Index, 1},
    {"aten._unsafe_index.Tensor", Index, 1},
    {"aten._unsafe_masked_index.default", MaskedIndex},
    {"aten.index_select.default", IndexSelect},
    {"aten.gather.default", Gather},
    {"aten.scatter.src", LikeArguments, LikeArg(0)},
    {"aten.scatter.value", LikeArguments, LikeArg(0)},
    {"aten.scatter_add.default", LikeArguments, LikeArg(0)},
    {"aten.scatter_reduce.two", LikeArguments, LikeArg(0)},
    {"aten.index_put.default", LikeArguments, LikeArg(0)},
    {"aten.index_copy.default", LikeArguments, LikeArg(0)},
    {"aten.index_add.default", LikeArguments, LikeArg(0)},
    {"aten.masked_scatter.default", LikeSelfAndMask},
    {"aten.embedding.default", Embedding},
    {"aten.sym_size.int", SymbolicInt},
    {"aten.sym_stride.int", SymbolicInt},
    {"aten.sym_numel.default", SymbolicInt},
    {"aten.item.default", Item},
    {"aten._local_scalar_dense.default", Item},
    {"aten.index_fill.int_Scalar", LikeArguments, LikeArg(0)},
    {"aten.index_fill.int_Tensor", LikeArguments, LikeArg(0)},
    {"aten.index_reduce.default", LikeArguments, LikeArg(0)},
    {"aten.put.default", LikeArguments, LikeArg(0)},
    {"aten.scatter.reduce", LikeArguments, LikeArg(0)},
    {"aten.scatter.value_reduce", LikeArguments, LikeArg(0)},
    {"aten._unsafe_index_put.default", LikeArguments, LikeArg(0)},
    {"aten._unsafe_masked_index_put_accumulate.default", LikeArguments,
     LikeArg(0)},
    {"aten.take.default", Take},
    {"aten.take_along_dim.default", TakeAlongDim},
    {"aten.sym_storage_offset.default", SymbolicInt},
    {"aten.sym_is_contiguous.default", SymbolicBool},
    {"aten.is_nonzero.default", SymbolicBool},
    {"aten.equal.default", SymbolicBool},
    {"aten.allclose.default", SymbolicBool},
};

}  // namespace

std::span<const InferRow> IndexRows() { return kRows; }

}  // namespace tenon
