// Products of matrices, and attention.
#include "analysis/infer_call.h"

namespace tenon {
namespace {

InferredSize SizeAt(const Type& t, int64_t d) {
  return InferredSize::Of(
      t.sizes[static_cast<size_t>(d < 0 ? d + t.rank() : d)]);
}

// Both operands must have one dtype.
DType Shared(const Type& a, const Type& b) {
  return a.dtype == b.dtype ? a.dtype : DType::kUnknown;
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
  InferredType& out = call.AddLike(*a, Shared(*a, *b));
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

void Linear(InferCall& call, uint32_t) {
  const Type* input = call.Tensor(0);
  const Type* weight = call.Tensor(1);
  if (input == nullptr || weight == nullptr || input->rank() < 1) return;
  if (weight->rank() != 2 || input->rank() > InferredType::kMaxRank) return;
  InferredType& out = call.AddLike(*input, Shared(*input, *weight));
  out.sizes[out.rank - 1] = SizeAt(*weight, 0);
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
  call.AddTensor(Shared(*a, *b), 1).sizes[0] = SizeAt(*a, 0);
}

void Dot(InferCall& call, uint32_t) {
  const Type* a = call.Tensor(0);
  const Type* b = call.Tensor(1);
  if (a != nullptr && b != nullptr) call.AddTensor(Shared(*a, *b), 0);
}

// The query's sizes, but the last of the value.
void Attention(InferCall& call, uint32_t) {
  const Type* query = call.Tensor(0);
  const Type* key = call.Tensor(1);
  const Type* value = call.Tensor(2);
  if (query == nullptr || key == nullptr || value == nullptr) return;
  if (query->rank() < 2 || query->rank() > InferredType::kMaxRank ||
      value->rank() != query->rank() || key->rank() != query->rank()) {
    return;
  }
  InferredType& out = call.AddLike(*query, Shared(*query, *value));
  // Batch dimensions may be broadcast, or grouped.
  for (int d = 0; d < out.rank - 2; ++d) {
    if (!(out.sizes[d] == SizeAt(*key, d)) ||
        !(out.sizes[d] == SizeAt(*value, d))) {
      out.sizes[d] = InferredSize::Unknown();
    }
  }
  out.sizes[out.rank - 1] = SizeAt(*value, -1);
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
    {"aten.scaled_dot_product_attention.default", Attention},
};

}  // namespace

std::span<const InferRow> MatmulRows() { return kRows; }

}  // namespace tenon
