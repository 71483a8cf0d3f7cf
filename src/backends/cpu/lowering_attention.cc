// Attention in one step: scores, softmax and the weighted sum of a block of
// query rows at a time, so that no matrix of all scores is ever stored.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kBlockRows = 64;

struct AttentionShape {
  int64_t rows = 0, keys = 0, depth = 0, width = 0;
  int64_t query_row = 0, key_row = 0, value_row = 0, out_row = 0;
  int64_t mask_row = 0;
  float scale = 1;
  bool is_causal = false;
  bool has_mask = false;
  Ref query, key, value, mask, out;
  Ref scores;   // kBlockRows x keys
  Ref scratch;  // of products
  // In elements, one per matrix.
  std::vector<int64_t> query_at, key_at, value_at, mask_at, out_at;

  // The two products of a block of rows that see `num_keys` keys, without
  // pointers.
  GemmArgs ScoresOf(int64_t num_rows, int64_t num_keys) const {
    GemmArgs g;
    g.m = num_rows;
    g.n = num_keys;
    g.k = depth;
    g.a_row = query_row;
    g.b_row = 1;
    g.b_column = key_row;
    g.c_row = num_keys;
    return g;
  }
  GemmArgs WeightedSumOf(int64_t num_rows, int64_t num_keys) const {
    GemmArgs g;
    g.m = num_rows;
    g.n = width;
    g.k = num_keys;
    g.a_row = num_keys;
    g.b_row = value_row;
    g.b_column = 1;
    g.c_row = out_row;
    return g;
  }
  // Enough for every block.
  int64_t ScratchBytes() const {
    const int64_t most_rows = std::min(kBlockRows, rows);
    return std::max(ScratchBytesFor(ScoresOf(most_rows, keys)),
                    ScratchBytesFor(WeightedSumOf(most_rows, keys)));
  }
};

class AttentionStep : public Step {
 public:
  explicit AttentionStep(AttentionShape shape) : s_(std::move(shape)) {}

  bool Run(Frame& frame) override {
    for (size_t i = 0; i < s_.query_at.size(); ++i) {
      for (int64_t row = 0; row < s_.rows; row += kBlockRows) {
        RunBlock(frame, i, row, std::min(kBlockRows, s_.rows - row));
      }
    }
    return true;
  }
  std::string_view name() const override { return "attention"; }

 private:
  void RunBlock(Frame& frame, size_t i, int64_t row, int64_t rows) const {
    // The last row sees the most.
    const int64_t keys = s_.is_causal ? std::min(s_.keys, row + rows) : s_.keys;
    float* scores = frame.at<float>(s_.scores);
    float* scratch = frame.at<float>(s_.scratch);
    GemmArgs g = s_.ScoresOf(rows, keys);
    g.a = frame.at<float>(s_.query) + s_.query_at[i] + row * s_.query_row;
    g.b = frame.at<float>(s_.key) + s_.key_at[i];
    g.c = scores;
    Multiply(g, scratch);
    const Loops& loops = BestLoops();
    for (int64_t r = 0; r < rows; ++r) {
      float* line = scores + r * keys;
      const int64_t seen = s_.is_causal ? std::min(keys, row + r + 1) : keys;
      const float* mask = s_.has_mask
                              ? frame.at<float>(s_.mask) + s_.mask_at[i] +
                                    (row + r) * s_.mask_row
                              : nullptr;
      loops.attention_row(line, mask, s_.scale, seen);
      std::fill(line + seen, line + keys, 0.0f);
    }
    GemmArgs w = s_.WeightedSumOf(rows, keys);
    w.a = scores;
    w.b = frame.at<float>(s_.value) + s_.value_at[i];
    w.c = frame.at<float>(s_.out) + s_.out_at[i] + row * s_.out_row;
    Multiply(w, scratch);
  }

  const AttentionShape s_;
};

// Heads of key and value stand for several heads of the query: a view.
bool RepeatHeads(KernelCall& call, const Tensor& query, Tensor* tensor,
                 std::vector<int64_t>* at, const Sizes& batch) {
  const size_t leading = batch.size();
  const int64_t heads = query.size(query.dim() - 3);
  const int64_t own = tensor->size(tensor->dim() - 3);
  if (own == 0 || heads % own != 0) {
    return call.Fail(std::to_string(heads) +
                     " query heads are no multiple of " + std::to_string(own));
  }
  Sizes sizes = batch;
  sizes[leading - 1] = own;
  sizes.insert(sizes.end(), tensor->sizes().end() - 2, tensor->sizes().end());
  if (!BroadcastsTo(tensor->sizes(), sizes)) {
    return call.Fail("batch dimensions don't broadcast");
  }
  *tensor = ExpandTo(*tensor, sizes);
  const std::vector<int64_t> groups =
      OffsetsOf(sizes, tensor->strides(), leading);
  for (const int64_t offset : groups) {
    at->insert(at->end(), static_cast<size_t>(heads / own), offset);
  }
  return true;
}

bool Spread(KernelCall& call, Tensor* tensor, std::vector<int64_t>* at,
            const Sizes& batch) {
  Sizes sizes = batch;
  sizes.insert(sizes.end(), tensor->sizes().end() - 2, tensor->sizes().end());
  if (!BroadcastsTo(tensor->sizes(), sizes)) {
    return call.Fail("batch dimensions don't broadcast");
  }
  *tensor = ExpandTo(*tensor, sizes);
  *at = OffsetsOf(sizes, tensor->strides(), batch.size());
  return true;
}

// A mask as what is added to the scores, with unit step.
bool AdditiveMask(PlanBuilder& b, KernelCall& call, Tensor* mask,
                  int64_t keys) {
  if (mask->dtype() != DType::kBool && mask->dtype() != DType::kFloat32) {
    return call.Fail("a mask of " + std::string(Name(mask->dtype())));
  }
  if (mask->dtype() == DType::kFloat32 && mask->dim() > 0 &&
      mask->sizes().back() == keys && (mask->strides().back() == 1)) {
    return true;
  }
  Sizes sizes = mask->sizes();
  if (sizes.empty()) sizes.push_back(1);
  sizes.back() = keys;
  if (!BroadcastsTo(mask->sizes(), sizes)) {
    return call.Fail("a mask of " + mask->ToString() + " over " +
                     std::to_string(keys) + " keys");
  }
  const Tensor out = b.NewTensor(DType::kFloat32, sizes);
  if (!out.defined()) return call.Fail("the mask is too large");
  PointwiseBuilder e(&b, out);
  const TileValue given = e.Load(*mask);
  TileValue value = e.Apply(TileOp::kCopy, {given});
  if (mask->dtype() == DType::kBool) {
    const auto number = [&](double f) {
      return e.Load(ConstantOf(f, DType::kFloat32));
    };
    value = e.Apply(
        TileOp::kWhere,
        {given, number(0.0), number(-std::numeric_limits<double>::infinity())});
  }
  *mask = out;
  return e.Emit(value) || call.Fail("cannot convert the mask");
}

// What PyTorch's fused kernel takes; its result is laid out like the query.
bool IsFused(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor* t : {&query, &key, &value}) {
    if (t->dim() != 4 || t->stride(3) != 1 || t->size(2) == 0 ||
        t->size(0) != query.size(0) || t->size(3) != query.size(3)) {
      return false;
    }
  }
  return true;
}

bool Attend(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor query = call.tensor(0), key = call.tensor(1), value = call.tensor(2);
  Tensor mask = call.OptionalTensor(3);
  const bool is_causal = call.Bool(5), enable_gqa = call.Bool(7);
  if (call.Float(4) != 0) return call.Fail("dropout is random");
  if (!NeedFloat32(call, {query, key, value})) return false;
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2) {
    return call.Fail("operands need at least 2 dimensions");
  }
  if (mask.defined() && is_causal) {
    return call.Fail("attn_mask must not be set with is_causal");
  }
  if (query.sizes().back() != key.sizes().back() ||
      key.size(key.dim() - 2) != value.size(value.dim() - 2)) {
    return call.Fail("operands don't fit: " + query.ToString() + ", " +
                     key.ToString() + ", " + value.ToString());
  }
  const bool is_fused = IsFused(query, key, value);
  const Sizes query_strides = LikeStrides(query);
  AttentionShape s;
  s.rows = query.size(query.dim() - 2);
  s.keys = key.size(key.dim() - 2);
  s.depth = query.sizes().back();
  s.width = value.sizes().back();
  s.scale = static_cast<float>(
      call.is_none(6) ? 1.0 / std::sqrt(static_cast<double>(s.depth))
                      : call.Float(6));
  s.is_causal = is_causal;
  const auto batch_of = [](const Tensor& t) {
    return Sizes(t.sizes().begin(), t.sizes().end() - 2);
  };
  Sizes batch = batch_of(query);
  const bool has_groups =
      enable_gqa && query.dim() >= 3 && key.dim() >= 3 && value.dim() >= 3;
  if (enable_gqa && !has_groups) return call.Fail("no dimension of heads");
  if (!has_groups && (!BroadcastSizes(batch, batch_of(key), &batch) ||
                      !BroadcastSizes(batch, batch_of(value), &batch))) {
    return call.Fail("batch dimensions don't broadcast");
  }
  Sizes sizes = batch;
  sizes.insert(sizes.end(), {s.rows, s.width});
  if (!CheckSizes(call, sizes)) return false;
  if (NumElements(sizes) > 0 && !NeedListable(call, batch)) return false;
  Sizes out_strides = ContiguousStrides(sizes);
  if (is_fused && query.sizes() == sizes) out_strides = query_strides;
  const Tensor out = b.NewTensor(DType::kFloat32, sizes, out_strides);
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  if (out.numel() == 0) return true;

  query = WithUnitStep(b, query, false);
  key = WithUnitStep(b, key, false);
  value = WithUnitStep(b, value, false);
  if (!query.defined() || !key.defined() || !value.defined()) {
    return call.Fail("cannot copy an operand");
  }
  if (has_groups) {
    if (!RepeatHeads(call, query, &key, &s.key_at, batch) ||
        !RepeatHeads(call, query, &value, &s.value_at, batch)) {
      return false;
    }
  } else if (!Spread(call, &key, &s.key_at, batch) ||
             !Spread(call, &value, &s.value_at, batch)) {
    return false;
  }
  if (!Spread(call, &query, &s.query_at, batch)) return false;
  if (mask.defined()) {
    if (!AdditiveMask(b, call, &mask, s.keys)) return false;
    Sizes mask_sizes = batch;
    mask_sizes.insert(mask_sizes.end(), {s.rows, s.keys});
    if (!BroadcastsTo(mask.sizes(), mask_sizes)) {
      return call.Fail("mask " + mask.ToString() + " doesn't broadcast to " +
                       ToText(mask_sizes));
    }
    mask = ExpandTo(mask, mask_sizes);
    s.mask_at = OffsetsOf(mask_sizes, mask.strides(), batch.size());
    s.mask_row = mask.stride(mask.dim() - 2);
    s.has_mask = true;
    s.mask = b.RefOf(mask);
  }
  // WithUnitStep lets a single row or column have any stride.
  const auto row_step = [](const Tensor& t) {
    return t.size(t.dim() - 2) <= 1 ? t.sizes().back() : t.stride(t.dim() - 2);
  };
  s.query_row = row_step(query);
  s.key_row = row_step(key);
  s.value_row = row_step(value);
  s.out_at = OffsetsOf(sizes, out.strides(), batch.size());
  s.out_row = out.stride(out.dim() - 2);
  // Fused results of one row or column may have steps of no meaning.
  if (out.stride(out.dim() - 1) != 1 && s.width > 1) {
    return call.Fail("a result with scattered columns");
  }
  if (s.rows == 1) s.out_row = s.width;
  const Tensor scores =
      b.NewTensor(DType::kFloat32,
                  {std::min(kBlockRows, s.rows), std::max<int64_t>(s.keys, 1)});
  const Tensor scratch = NewScratch(b, s.ScratchBytes());
  s.scratch = b.RefOf(scratch);
  s.query = b.RefOf(query);
  s.key = b.RefOf(key);
  s.value = b.RefOf(value);
  s.out = b.RefOf(out);
  s.scores = b.RefOf(scores);
  const Tensor reads[] = {query, key, value, mask};
  const Tensor writes[] = {out, scores, scratch};
  b.Emit(std::make_unique<AttentionStep>(std::move(s)), reads, writes);
  return true;
}

std::optional<Refusal> RefuseDropout(const Program& program, NodeId node) {
  const Arg* p = program.FindArg(node, "dropout_p");
  if (p == nullptr || (p->kind == ArgKind::kFloat && p->f == 0) ||
      (p->kind == ArgKind::kInt && p->i == 0)) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kEffect, "attention with dropout is random"};
}

constexpr Lowering kLowerings[] = {
    {"aten.scaled_dot_product_attention.default", LoweringKind::kPure, Attend,
     DTypeRule::kOnlyFloat32, TileOp::kCopy, RefuseDropout},
};

}  // namespace

std::span<const Lowering> AttentionLowerings() { return kLowerings; }

}  // namespace tenon::cpu
