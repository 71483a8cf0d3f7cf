// Scaled dot products of queries, keys and values.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

DType Shared(const Type& a, const Type& b) {
  return a.dtype == b.dtype ? a.dtype : DType::kUnknown;
}

// How many dimensions of `t` stand before the last two.
int64_t NumBatch(const Type& t) { return t.rank() - 2; }

// Heads of keys and values stand for several of the query's.
Type WithHeadsOf(const Type& query, const Type& t) {
  Type out = t;
  if (query.rank() > 2 && t.rank() > 2) {
    out.sizes[out.sizes.size() - 3] = query.sizes[query.sizes.size() - 3];
  }
  return out;
}

// The dimensions before the last two, of all operands and a mask broadcast.
// `value` may be null.
InferredType BatchOf(const InferCall& call, bool is_grouped, const Type& query,
                     const Type& key, const Type* value) {
  const int mask_at = call.schema().FindArg("attn_mask");
  const Type* mask =
      mask_at < 0 ? nullptr : call.Tensor(static_cast<size_t>(mask_at));
  InferredType batch;
  batch.rank = 0;
  const auto meet = [&batch](Type t) {
    if (t.rank() < 2) return;
    t.sizes.resize(t.sizes.size() - 2);
    BroadcastInto(t, &batch);
  };
  meet(query);
  meet(is_grouped ? WithHeadsOf(query, key) : key);
  if (value != nullptr) {
    meet(is_grouped ? WithHeadsOf(query, *value) : *value);
  }
  if (mask != nullptr) meet(*mask);
  return batch;
}

// The batch of all three, and of a mask; the query's length, and the value's
// last size.
void Attention(InferCall& call, uint32_t) {
  const Type* query = call.Tensor(0);
  const Type* key = call.Tensor(1);
  const Type* value = call.Tensor(2);
  if (query == nullptr || key == nullptr || value == nullptr) return;
  if (NumBatch(*query) < 0 || NumBatch(*key) < 0 || NumBatch(*value) < 0) {
    return;
  }
  const int grouped_at = call.schema().FindArg("enable_gqa");
  const auto is_grouped = grouped_at < 0
                              ? std::optional<bool>(false)
                              : call.Bool(static_cast<size_t>(grouped_at));
  if (!is_grouped) return;
  const InferredType batch = BatchOf(call, *is_grouped, *query, *key, value);
  InferredType& out = call.AddTensor(Shared(*query, *value), 0);
  if (batch.rank < 0 || batch.rank + 2 > InferredType::kMaxRank) {
    out.rank = -1;
    return;
  }
  out.rank = batch.rank;
  out.sizes = batch.sizes;
  out.sizes[out.rank++] = SizeAt(*query, -2);
  out.sizes[out.rank++] = SizeAt(*value, -1);
}

// Besides the result, the logarithm of each query's sum of weights.
void FlashAttention(InferCall& call, uint32_t) {
  const Type* query = call.Tensor(0);
  if (query == nullptr || query->rank() != 4) return;
  Attention(call, 0);
  if (call.num_added() == 0) return;
  // Of float64 the kernel gives float64, its meta function float32.
  InferredType& sums =
      call.AddTensor(IsFloating(query->dtype) && query->dtype != DType::kFloat64
                         ? DType::kFloat32
                         : DType::kUnknown,
                     3);
  for (int d = 0; d < 3; ++d) sums.sizes[d] = SizeAt(*query, d);
}

// Besides the result, the weights.
void AttentionAndWeights(InferCall& call, uint32_t) {
  constexpr size_t kGrouped = 8;
  const Type *query = call.Tensor(0), *key = call.Tensor(1);
  Attention(call, 0);
  const auto is_grouped = call.Bool(kGrouped);
  if (call.num_added() == 0 || !is_grouped) return;
  InferredType weights = BatchOf(call, *is_grouped, *query, *key, nullptr);
  weights.has_kind = true;
  weights.kind = TypeKind::kTensor;
  weights.dtype = Shared(*query, *key);
  if (weights.rank >= 0 && weights.rank + 2 <= InferredType::kMaxRank) {
    weights.sizes[weights.rank++] = SizeAt(*query, -2);
    weights.sizes[weights.rank++] = SizeAt(*key, -2);
  } else {
    weights.rank = -1;
  }
  call.Add(weights);
}

constexpr InferRow kRows[] = {
    {"aten.scaled_dot_product_attention.default", Attention},
    {"aten._scaled_dot_product_attention_math.default", AttentionAndWeights},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default",
     FlashAttention},
};

}  // namespace

std::span<const InferRow> AttentionRows() { return kRows; }

}  // namespace tenon
