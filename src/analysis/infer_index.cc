// Reading and writing by index, and scalars read from tensors.
#include "analysis/infer_call.h"

namespace tenon {
namespace {

// self[i, :, j, ...]: indexed dimensions give way to the indices' broadcast
// sizes; these stand first unless the indexed dimensions are adjacent.
void Index(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const auto items = call.Items(1);
  if (self == nullptr || items.empty() ||
      self->rank() > InferredType::kMaxRank) {
    return;
  }
  InferredType& out = call.AddTensor(self->dtype, 0);
  InferredType indexed;
  indexed.rank = 0;
  int first = -1, last = -1, num_indexed = 0;
  bool is_open = items.size() > self->sizes.size();
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == ArgKind::kNone) continue;
    const Type* index = call.TensorOf(&items[i]);
    // A mask takes as many dimensions as it has, and gives one of open size.
    if (index == nullptr || index->dtype == DType::kBool ||
        index->dtype == DType::kUInt8) {
      is_open = true;
      break;
    }
    BroadcastInto(*index, &indexed);
    if (first < 0) first = static_cast<int>(i);
    last = static_cast<int>(i);
    ++num_indexed;
  }
  if (is_open || num_indexed == 0 || indexed.rank < 0 ||
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
    const size_t at = static_cast<size_t>(d);
    const bool is_indexed =
        at < items.size() && items[at].kind != ArgKind::kNone;
    if (!is_indexed) out.sizes[out.rank++] = InferredSize::Of(self->sizes[at]);
  }
}

void IndexSelect(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const Type* index = call.Tensor(2);
  const auto dim = call.Int(1);
  if (self == nullptr || index == nullptr || !dim) return;
  InferredType& out = call.AddLike(*self);
  const auto d = WrapDim(*dim, out.rank);
  if (d && index->rank() == 1) {
    out.sizes[*d] = InferredSize::Of(index->sizes[0]);
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

void LikeSelf(InferCall& call, uint32_t) {
  if (const Type* self = call.Tensor(0)) call.AddLike(*self);
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

void EmbeddingBag(InferCall& call, uint32_t) {
  const Type* weight = call.Tensor(0);
  if (weight == nullptr || weight->rank() != 2) return;
  InferredType& out = call.AddTensor(weight->dtype, 2);
  out.sizes[1] = InferredSize::Of(weight->sizes[1]);
}

void Nonzero(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  InferredType& out = call.AddTensor(DType::kInt64, 2);
  if (self != nullptr) out.sizes[1] = InferredSize::Literal(self->rank());
}

void SymbolicInt(InferCall& call, uint32_t) { call.AddKind(TypeKind::kSymInt); }

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
    {"aten.index.Tensor", Index},
    {"aten.index_select.default", IndexSelect},
    {"aten.gather.default", Gather},
    {"aten.scatter.src", LikeSelf},
    {"aten.scatter.value", LikeSelf},
    {"aten.scatter_add.default", LikeSelf},
    {"aten.scatter_reduce.two", LikeSelf},
    {"aten.index_put.default", LikeSelf},
    {"aten.index_copy.default", LikeSelf},
    {"aten.index_add.default", LikeSelf},
    {"aten.masked_scatter.default", LikeSelfAndMask},
    {"aten.embedding.default", Embedding},
    {"aten.embedding_bag.padding_idx", EmbeddingBag},
    {"aten._embedding_bag.default", EmbeddingBag},
    {"aten.nonzero.default", Nonzero},
    {"aten.sym_size.int", SymbolicInt},
    {"aten.sym_stride.int", SymbolicInt},
    {"aten.sym_numel.default", SymbolicInt},
    {"aten.item.default", Item},
    {"aten._local_scalar_dense.default", Item},
};

}  // namespace

std::span<const InferRow> IndexRows() { return kRows; }

}  // namespace tenon
