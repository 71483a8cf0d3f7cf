// Distances and products of pairs of vectors.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// Every row of one with every row of the other.
void AllPairs(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  if (a == nullptr || b == nullptr || a->rank() < 2 || b->rank() < 2) return;
  const bool is_known = a->dtype == b->dtype && IsFloating(a->dtype);
  InferredType& out =
      AddBatch(call, is_known ? a->dtype : DType::kUnknown, *a, *b);
  if (out.rank < 0) return;
  out.sizes[out.rank - 2] = SizeAt(*a, -2);
  out.sizes[out.rank - 1] = SizeAt(*b, -2);
}

// Each pair of rows once.
void OwnPairs(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr || self->rank() != 2) return;
  InferredType& out = call.AddTensor(self->dtype, 1);
  const InferredSize n = SizeAt(*self, 0);
  if (n.is_literal() && n.value >= 0 && n.value < int64_t{1} << 31) {
    out.sizes[0] = InferredSize::Literal(n.value * (n.value - 1) / 2);
    if (n.value == 0) out.sizes[0] = n;
  }
}

// The operands broadcast, and a dimension reduced: `dim` stands at a position
// or is the last (kLast); keepdim at another (kNever: it goes).
constexpr uint32_t kLast = 15, kNever = 15;
constexpr uint32_t P(uint32_t dim, uint32_t keepdim) {
  return dim | keepdim << 4;
}

void Pairwise(InferCall& call, uint32_t parameter) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  const uint32_t dim_at = parameter & 15, keepdim_at = parameter >> 4;
  const auto dim =
      dim_at == kLast ? std::optional<int64_t>(-1) : call.Int(dim_at);
  const auto keepdim =
      keepdim_at == kNever ? std::optional<bool>(false) : call.Bool(keepdim_at);
  if (a == nullptr || b == nullptr || !dim || !keepdim) return;
  const DType dtype = a->dtype == b->dtype ? a->dtype : DType::kUnknown;
  InferredType& out = call.AddLike(*a, ToReal(ToFloating(dtype)));
  out.is_default_dtype = ToFloating(dtype) != dtype;
  BroadcastInto(*b, &out);
  if (out.rank < 0) return;
  const auto d = out.rank == 0 ? std::nullopt : WrapDim(*dim, out.rank);
  if (!d) {
    if (out.rank > 0) out.rank = -1;
  } else if (*keepdim) {
    out.sizes[*d] = InferredSize::Literal(1);
  } else {
    for (int i = *d; i + 1 < out.rank; ++i) out.sizes[i] = out.sizes[i + 1];
    --out.rank;
  }
}

// The norm of the difference.
void Distance(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  if (a == nullptr || b == nullptr) return;
  Promotion promotion;
  promotion.AddTensor(a->dtype, a->rank() > 0);
  promotion.AddTensor(b->dtype, b->rank() > 0);
  call.AddTensor(ToReal(promotion.Result()), 0);
}

// Broadcast, in the dtype that both have.
void CrossProduct(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  if (a == nullptr || b == nullptr) return;
  BroadcastInto(
      *b, &call.AddLike(*a, a->dtype == b->dtype ? a->dtype : DType::kUnknown));
}

constexpr InferRow kRows[] = {
    {"aten.cdist.default", AllPairs},
    {"aten._cdist_forward.default", AllPairs},
    {"aten._euclidean_dist.default", AllPairs},
    {"aten.pdist.default", OwnPairs},
    {"aten._pdist_forward.default", OwnPairs},
    {"aten.pairwise_distance.default", Pairwise, P(kLast, 4)},
    {"aten.cosine_similarity.default", Pairwise, P(2, kNever)},
    {"aten.dist.default", Distance},
    {"aten.cross.default", CrossProduct},
    {"aten.linalg_cross.default", CrossProduct},
};

}  // namespace

std::span<const InferRow> DistanceRows() { return kRows; }

}  // namespace tenon
