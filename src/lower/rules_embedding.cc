// Bags of embeddings: rows of a table, summed up or averaged bag by bag.
#include <vector>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

constexpr int64_t kSum = 0, kMean = 1;

// The others are for gradients.
Rewritten First(NodeRewrite& r, ValueId v) { return r.Done(v); }

// (weight, indices, offsets, scale_grad, mode, sparse, sample_weights,
// include_last_offset, padding): which bag an index belongs to is how many bags
// have begun at its place; rows are added up there.
Rewritten Bags(NodeRewrite& r) {
  const ValueId weight = r.tensor(0), indices = r.tensor(1),
                offsets = r.tensor(2);
  const auto mode = r.Int(4);
  const auto padding = r.Int(8);
  if (!weight.valid() || !indices.valid() || !offsets.valid() ||
      r.type(1).rank() != 1 || r.type(2).rank() != 1 || !mode ||
      *mode > kMean || r.Bool(7) || (r.has(8) && (!padding || *padding >= 0))) {
    return Rewritten::kSkip;
  }
  for (size_t i = 1; i < r.num_results(); ++i) {
    if (r.is_used(i)) return Rewritten::kSkip;
  }
  const SymInt count = r.type(1).sizes[0], bags = r.type(2).sizes[0];
  const SymInt width = r.type(0).sizes[1];
  const DType dtype = r.result_type().dtype;
  const SymInt one = SymInt::Literal(1);
  const auto call = [&](std::string_view op, std::vector<Operand> operands,
                        DType result, const Shape& sizes) {
    return r.build.Call(op, std::move(operands),
                        r.build.TensorType(result, sizes));
  };
  const ValueId places =
      r.build.Call("aten.arange.default", {r.build.Size(indices, 0)},
                   {{"dtype", Operand::Dtype(DType::kInt64)}},
                   r.build.TensorType(DType::kInt64, {count}));
  const ValueId begins = r.build.Cast(offsets, DType::kInt64);
  const ValueId has_begun = call("aten.ge.Tensor",
                                 {*r.build.Reshape(places, {count, one}),
                                  *r.build.Reshape(begins, {one, bags})},
                                 DType::kBool, {count, bags});
  const ValueId begun =
      call("aten.sum.dim_IntList",
           {r.build.Cast(has_begun, DType::kInt64),
            Operand::Ints(std::vector<int64_t>{1}), Operand::Bool(false)},
           DType::kInt64, {count});
  const ValueId bag_of =
      call("aten.sub.Scalar", {begun, Operand::Int(1)}, DType::kInt64, {count});
  ValueId rows =
      call("aten.embedding.default", {weight, indices}, dtype, {count, width});
  if (r.tensor(6).valid()) {
    rows = call("aten.mul.Tensor",
                {rows, *r.build.Reshape(r.tensor(6), {count, one})}, dtype,
                {count, width});
  }
  const Operand where =
      Operand::List(ListTag::kOptionalTensors, {Operand(bag_of)});
  const auto zeros = [&](const Shape& sizes) {
    std::vector<Operand> list = {r.build.Size(offsets, 0)};
    if (sizes.size() > 1) list.push_back(r.build.Size(weight, 1));
    return r.build.Call(
        "aten.full.default", {Operand::Sizes(list), Operand::Float(0)},
        {{"dtype", Operand::Dtype(dtype)}}, r.build.TensorType(dtype, sizes));
  };
  const ValueId sums =
      call("aten.index_put.default",
           {zeros({bags, width}), where, rows, Operand::Bool(true)}, dtype,
           {bags, width});
  if (*mode == kSum) return First(r, sums);
  const ValueId ones = r.build.Call(
      "aten.full.default",
      {Operand::Sizes({r.build.Size(indices, 0)}), Operand::Float(1)},
      {{"dtype", Operand::Dtype(dtype)}}, r.build.TensorType(dtype, {count}));
  const ValueId sizes =
      call("aten.index_put.default",
           {zeros({bags}), where, ones, Operand::Bool(true)}, dtype, {bags});
  // An empty bag is 0, not 0 / 0.
  const ValueId divisor =
      call("aten.clamp.default", {sizes, Operand::Int(1)}, dtype, {bags});
  return First(
      r, call("aten.div.Tensor", {sums, *r.build.Reshape(divisor, {bags, one})},
              dtype, {bags, width}));
}

}  // namespace

std::vector<RuleRow> EmbeddingRules() {
  return {
      {"aten.embedding_bag.default", Bags},
      {"aten.embedding_bag.padding_idx", Bags},
      {"aten._embedding_bag.default", Bags},
      {"aten._embedding_bag_forward_only.default", Bags},
  };
}

}  // namespace tenon::lower
