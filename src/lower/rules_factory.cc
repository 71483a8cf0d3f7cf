// Tensors out of numbers.
#include <vector>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

// A full tensor of the result's type: (size, value).
Rewritten Full(NodeRewrite& r, const Operand& sizes, const Operand& value) {
  return r.Become("aten.full.default", {sizes, value},
                  {{"dtype", Operand::Dtype(r.result_type().dtype)}});
}

// Like a tensor: its sizes, another value.
RewriteRule Like(double value) {
  return [value](NodeRewrite& r) {
    if (!r.tensor(0).valid()) return Rewritten::kSkip;
    const auto sizes = r.build.Sizes(r.result_type().sizes, {{r.tensor(0)}});
    if (!sizes) return Rewritten::kSkip;
    return Full(r, *sizes, Operand::Float(value));
  };
}

// (self, size): self says the dtype only.
RewriteRule New(double value) {
  return [value](NodeRewrite& r) {
    return r.arg(1).is_list ? Full(r, r.arg(1), Operand::Float(value))
                            : Rewritten::kSkip;
  };
}
Rewritten NewFull(NodeRewrite& r) {
  return r.arg(1).is_list ? Full(r, r.arg(1), r.arg(2)) : Rewritten::kSkip;
}
Rewritten FullLike(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  const auto sizes = r.build.Sizes(r.result_type().sizes, {{r.tensor(0)}});
  return sizes ? Full(r, *sizes, r.arg(1)) : Rewritten::kSkip;
}
// What is in it nobody may ask; zeros are as good as anything.
Rewritten Empty(NodeRewrite& r) {
  return r.arg(0).is_list ? Full(r, r.arg(0), Operand::Int(0))
                          : Rewritten::kSkip;
}
Rewritten Zero(NodeRewrite& r) { return Like(0)(r); }
Rewritten Fill(NodeRewrite& r) {
  if (!r.tensor(0).valid()) return Rewritten::kSkip;
  const auto sizes = r.build.Sizes(r.result_type().sizes, {{r.tensor(0)}});
  if (!sizes) return Rewritten::kSkip;
  if (!r.tensor(1).valid()) return Full(r, *sizes, r.arg(1));
  return r.Become("aten.expand_copy.default",
                  {r.build.Cast(r.tensor(1), r.result_type().dtype), *sizes});
}

// (start, end)
Rewritten ArangeFrom(NodeRewrite& r) {
  return r.Become("aten.arange.start_step",
                  {r.arg(0), r.arg(1), Operand::Int(1)},
                  {{"dtype", Operand::Dtype(r.result_type().dtype)}});
}

// Each of `tensors` along a dimension of
// its own, all of the same sizes.
Rewritten MeshGrid(NodeRewrite& r) {
  if (r.num_args() > 1 && r.String(1) != "ij") return Rewritten::kSkip;
  if (!r.arg(0).is_list || r.arg(0).items.size() != r.num_results()) {
    return Rewritten::kSkip;
  }
  std::vector<ValueId> tensors;
  for (const Operand& item : r.arg(0).items) {
    if (!item.value.valid() || r.program().type(item.value).rank() != 1) {
      return Rewritten::kSkip;
    }
    tensors.push_back(item.value);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!r.is_used(i)) continue;
    const Shape to = r.result_type(i).sizes;
    Shape along(to.size(), SymInt::Literal(1));
    along[i] = to[i];
    const auto shaped = r.build.Reshape(tensors[i], along);
    const auto sizes = r.build.Sizes(to, tensors);
    r.Give(i, r.build.Call("aten.expand_copy.default", {*shaped, *sizes},
                           r.build.TypeLike(r.result(i))));
  }
  return Rewritten::kDone;
}

}  // namespace

std::vector<RuleRow> FactoryRules() {
  return {
      {"aten.zeros_like.default", Like(0)},
      {"aten.ones_like.default", Like(1)},
      {"aten.empty_like.default", Like(0)},
      {"aten.full_like.default", FullLike},
      {"aten.new_zeros.default", New(0)},
      {"aten.new_ones.default", New(1)},
      {"aten.new_empty.default", New(0)},
      {"aten.new_full.default", NewFull},
      {"aten.empty.memory_format", Empty},
      {"aten.empty_permuted.default", Empty},
      {"aten.zero.default", Zero},
      {"aten.fill.Scalar", Fill},
      {"aten.fill.Tensor", Fill},
      {"aten.arange.start", ArangeFrom},
      {"aten.meshgrid.default", MeshGrid},
      {"aten.meshgrid.indexing", MeshGrid},
  };
}

}  // namespace tenon::lower
