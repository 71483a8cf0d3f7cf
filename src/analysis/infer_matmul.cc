// Products of matrices and vectors.
#include <algorithm>
#include <vector>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// Both operands must have one dtype.
DType Shared(const Type& a, const Type& b) {
  return a.dtype == b.dtype ? a.dtype : DType::kUnknown;
}

// So must a tensor that is added, which stands before them.
DType SharedWithSelf(const InferCall& call, const Type& a, const Type& b) {
  const Type* self = call.Tensor(0);
  const DType dtype = Shared(a, b);
  return self == nullptr || self->dtype == dtype ? dtype : DType::kUnknown;
}

// [.., n, k] by [.., k, m], of the rank that both have; `parameter`: position
// of the first.
void Product(InferCall& call, uint32_t parameter) {
  const Type* a = call.Tensor(parameter);
  const Type* b = call.Tensor(parameter + 1);
  if (a == nullptr || b == nullptr || a->rank() != b->rank() || a->rank() < 2 ||
      a->rank() > InferredType::kMaxRank) {
    return;
  }
  InferredType& out = call.AddLike(*a, SharedWithSelf(call, *a, *b));
  out.sizes[out.rank - 1] = SizeAt(*b, -1);
}

void IntProduct(InferCall& call, uint32_t) {
  const Type* a = call.Tensor(0);
  const Type* b = call.Tensor(1);
  if (a == nullptr || b == nullptr || a->rank() != 2 || b->rank() != 2) return;
  InferredType& out = call.AddTensor(DType::kInt32, 2);
  out.sizes[0] = SizeAt(*a, 0);
  out.sizes[1] = SizeAt(*b, 1);
}

// [.., k] by [m, k]; a weight of one row has no m.
void Linear(InferCall& call, uint32_t) {
  const Type *input = call.Self(), *weight = call.Tensor(1);
  if (input == nullptr || weight == nullptr || input->rank() < 1) return;
  if (weight->rank() < 1 || weight->rank() > 2) return;
  InferredType& out = call.AddLike(*input, Shared(*input, *weight));
  if (weight->rank() == 2) {
    out.sizes[out.rank - 1] = SizeAt(*weight, 0);
  } else {
    --out.rank;
  }
}

void Matmul(InferCall& call, uint32_t) {
  const Type* a = call.Tensor(0);
  const Type* b = call.Tensor(1);
  if (a == nullptr || b == nullptr || a->rank() < 1 || b->rank() < 1) return;
  if (a->rank() > InferredType::kMaxRank ||
      b->rank() > InferredType::kMaxRank) {
    return;
  }
  InferredType& out = call.AddTensor(Shared(*a, *b), 0);
  // Leading dimensions are broadcast.
  const int64_t batch_a = a->rank() > 2 ? a->rank() - 2 : 0;
  const int64_t batch_b = b->rank() > 2 ? b->rank() - 2 : 0;
  const int64_t batch = batch_a > batch_b ? batch_a : batch_b;
  for (int64_t d = 0; d < batch; ++d) {
    const int64_t in_a = d - (batch - batch_a);
    const int64_t in_b = d - (batch - batch_b);
    const InferredSize one = InferredSize::Literal(1);
    out.sizes[out.rank++] = BroadcastSize(in_a >= 0 ? SizeAt(*a, in_a) : one,
                                          in_b >= 0 ? SizeAt(*b, in_b) : one);
  }
  if (a->rank() > 1) out.sizes[out.rank++] = SizeAt(*a, -2);
  if (b->rank() > 1) out.sizes[out.rank++] = SizeAt(*b, -1);
}

void MatrixVector(InferCall& call, uint32_t parameter) {
  const Type* a = call.Tensor(parameter);
  const Type* b = call.Tensor(parameter + 1);
  if (a == nullptr || b == nullptr || a->rank() != 2) return;
  call.AddTensor(SharedWithSelf(call, *a, *b), 1).sizes[0] = SizeAt(*a, 0);
}

void Dot(InferCall& call, uint32_t) {
  const Type* a = call.Tensor(0);
  const Type* b = call.Tensor(1);
  if (a != nullptr && b != nullptr) call.AddTensor(Shared(*a, *b), 0);
}

// Sums over a batch of products.
void SummedProduct(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(1), *b = call.Tensor(2);
  if (a == nullptr || b == nullptr || a->rank() != 3 || b->rank() != 3) return;
  InferredType& out = call.AddTensor(SharedWithSelf(call, *a, *b), 2);
  out.sizes[0] = SizeAt(*a, 1);
  out.sizes[1] = SizeAt(*b, 2);
}

// Of two vectors at `position` and after it every product; an added matrix
// counts for the dtype.
void OuterProduct(InferCall& call, uint32_t position) {
  const Type *a = call.Tensor(position), *b = call.Tensor(position + 1);
  if (a == nullptr || b == nullptr || a->rank() != 1 || b->rank() != 1) return;
  Promotion promotion;
  for (uint32_t i = 0; i <= position + 1; ++i) {
    if (!call.AddTo(&promotion, call.Get(i))) return;
  }
  InferredType& out = call.AddTensor(promotion.Result(), 2);
  out.sizes[0] = SizeAt(*a, 0);
  out.sizes[1] = SizeAt(*b, 0);
}

// Sums over the last dimension of both; a number multiplies.
void InnerProduct(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  if (a == nullptr || b == nullptr) return;
  Promotion promotion;
  promotion.AddTensor(a->dtype, a->rank() > 0);
  promotion.AddTensor(b->dtype, b->rank() > 0);
  const bool is_scaled = a->rank() == 0 || b->rank() == 0;
  const int64_t left = a->rank() - (is_scaled ? 0 : 1);
  const int64_t right = b->rank() - (is_scaled ? 0 : 1);
  InferredType& out =
      call.AddTensor(is_scaled ? promotion.Result() : Shared(*a, *b),
                     static_cast<int>(left + right));
  for (int d = 0; d < out.rank; ++d) {
    out.sizes[d] = d < left ? SizeAt(*a, d) : SizeAt(*b, d - left);
  }
}

// Dimensions of both are paired and summed over; those left follow each other.
void TensorDot(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  if (a == nullptr || b == nullptr) return;
  InferredType& out = call.AddTensor(Shared(*a, *b), 0);
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Type& t = i == 0 ? *a : *b;
    const auto dims = call.Ints(2 + i);
    uint64_t summed = 0;
    bool is_known = dims.has_value() && t.rank() <= 64;
    for (size_t k = 0; is_known && k < dims->size(); ++k) {
      const auto d = WrapDim((*dims)[k], t.rank());
      is_known = d.has_value();
      if (d) summed |= uint64_t{1} << *d;
    }
    for (int64_t d = 0; is_known && d < t.rank(); ++d) {
      if (summed >> d & 1) continue;
      is_known = out.rank < InferredType::kMaxRank;
      if (is_known) out.sizes[out.rank++] = SizeAt(t, d);
    }
    if (!is_known) {
      out.rank = -1;
      return;
    }
  }
}

// Leading sizes of the inputs, then one for each of the weight's matrices.
void Bilinear(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *weight = call.Tensor(2);
  if (a == nullptr || weight == nullptr || weight->rank() != 3 ||
      a->rank() < 1 || a->rank() > InferredType::kMaxRank) {
    return;
  }
  InferredType& out = call.AddLike(*a, Shared(*a, *weight));
  out.sizes[out.rank - 1] = SizeAt(*weight, 0);
}

// Three operands, expanded by dimensions of size 1, multiplied and summed.
void Trilinear(InferCall& call, uint32_t) {
  constexpr size_t kFirstExpand = 3, kSum = 6;
  InferredType all;
  DType dtype = DType::kUnknown;
  all.rank = 0;
  for (size_t i = 0; i < 3; ++i) {
    const Type* t = call.Tensor(i);
    const auto added = call.Ints(kFirstExpand + i);
    if (t == nullptr || !added) return;
    dtype = i == 0 || t->dtype == dtype ? t->dtype : DType::kUnknown;
    Type expanded = *t;
    std::vector<int64_t> at = *added;
    std::sort(at.begin(), at.end());
    for (const int64_t d : at) {
      if (d < 0 || d > expanded.rank()) return;
      expanded.sizes.insert(expanded.sizes.begin() + d, SymInt::Literal(1));
    }
    BroadcastInto(expanded, &all);
  }
  const auto summed = call.Ints(kSum);
  if (!summed || all.rank < 0) return;
  InferredType& out = call.AddTensor(dtype, 0);
  for (int d = 0; d < all.rank; ++d) {
    const bool is_summed =
        std::find(summed->begin(), summed->end(), d) != summed->end();
    if (!is_summed) out.sizes[out.rank++] = all.sizes[d];
  }
}

constexpr InferRow kRows[] = {
    {"aten.mm.default", Product, 0},
    {"aten.bmm.default", Product, 0},
    {"aten.addmm.default", Product, 1},
    {"aten.baddbmm.default", Product, 1},
    {"aten._int_mm.default", IntProduct},
    {"aten.linear.default", Linear},
    {"aten.matmul.default", Matmul},
    {"aten.mv.default", MatrixVector, 0},
    {"aten.addmv.default", MatrixVector, 1},
    {"aten.dot.default", Dot},
    {"aten.addbmm.default", SummedProduct},
    {"aten.addbmm_.default", SummedProduct},
    {"aten.addmm_.default", Product, 1},
    {"aten.baddbmm_.default", Product, 1},
    {"aten.addmv_.default", MatrixVector, 1},
    {"aten.outer.default", OuterProduct, 0},
    {"aten.ger.default", OuterProduct, 0},
    {"aten.addr.default", OuterProduct, 1},
    {"aten.vdot.default", Dot},
    {"aten.inner.default", InnerProduct},
    {"aten.tensordot.default", TensorDot},
    {"aten.bilinear.default", Bilinear},
    {"aten._trilinear.default", Trilinear},
};

}  // namespace

std::span<const InferRow> MatmulRows() { return kRows; }

}  // namespace tenon
