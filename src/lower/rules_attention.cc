// Attention, step by step: there is no kernel for the whole.
//
//   softmax(query @ key^T * scale + mask) @ value
#include <cmath>
#include <limits>

#include "lower/rewrite_rules.h"

namespace tenon::lower {
namespace {

// Which parameters say what.
struct Layout {
  size_t mask, causal, scale;
  size_t grouped;  // 0: the operator has none
};

class Attention {
 public:
  Attention(NodeRewrite& r, const Layout& layout) : r_(r), layout_(layout) {}

  Rewritten Build(double scale) {
    const DType dtype = r_.result_type().dtype;
    const ValueId query = r_.tensor(0);
    const auto key = Repeated(r_.tensor(1)), value = Repeated(r_.tensor(2));
    if (!key || !value) return Rewritten::kSkip;
    const Shape q = TypeOf(query).sizes, k = TypeOf(*key).sizes;
    const size_t rank = q.size();
    rows_ = q[rank - 2];
    columns_ = k[rank - 2];
    scores_ = Shape(q.begin(), q.end() - 1);
    scores_.push_back(columns_);
    const TypeId type = r_.build.TensorType(dtype, scores_);

    const ValueId scaled =
        r_.build.Call("aten.mul.Scalar", {query, Operand::Float(scale)},
                      r_.build.TypeLike(query));
    Shape turned = k;
    std::swap(turned[rank - 1], turned[rank - 2]);
    const ValueId keys =
        r_.build.Call("aten.transpose_copy.int",
                      {*key, Operand::Int(static_cast<int64_t>(rank) - 2),
                       Operand::Int(static_cast<int64_t>(rank) - 1)},
                      r_.build.TensorType(dtype, turned));
    ValueId scores = r_.build.Call("aten.matmul.default", {scaled, keys}, type);
    if (r_.Bool(layout_.causal)) {
      scores = Hide(scores, Below(query, *key), type);
    }
    const ValueId mask = r_.tensor(layout_.mask);
    if (mask.valid() && TypeOf(mask).dtype == DType::kBool) {
      scores = Hide(scores, mask, type);
    } else if (mask.valid()) {
      const ValueId cast = r_.build.Cast(mask, dtype);
      scores = r_.build.Call("aten.add.Tensor", {scores, cast}, type);
    }
    ValueId weights =
        r_.build.Call("aten._softmax.default",
                      {scores, Operand::Int(-1), Operand::Bool(false)}, type);
    if (mask.valid()) weights = WithoutHiddenRows(weights, scores, type);
    return r_.Done(r_.build.Call("aten.matmul.default", {weights, *value},
                                 r_.build.TypeLike(r_.result())));
  }

 private:
  const Type& TypeOf(ValueId v) const { return r_.program().type(v); }

  // Heads of key and value, each for so many heads of the query.
  std::optional<ValueId> Repeated(ValueId v) {
    if (layout_.grouped == 0 || !r_.Bool(layout_.grouped)) return v;
    const Shape q = TypeOf(r_.tensor(0)).sizes, sizes = TypeOf(v).sizes;
    const size_t heads = sizes.size() - 3;
    if (!q[heads].is_literal() || !sizes[heads].is_literal() ||
        sizes[heads].value < 1 || q[heads].value % sizes[heads].value != 0) {
      return std::nullopt;
    }
    const int64_t times = q[heads].value / sizes[heads].value;
    if (times == 1) return v;
    const DType dtype = TypeOf(v).dtype;
    Shape apart = sizes;
    apart.insert(apart.begin() + static_cast<ptrdiff_t>(heads) + 1,
                 SymInt::Literal(1));
    const auto single = r_.build.Reshape(v, apart);
    if (!single) return std::nullopt;
    Shape wide = apart;
    wide[heads + 1] = SymInt::Literal(times);
    const auto list = r_.build.Sizes(wide, {&v, 1});
    if (!list) return std::nullopt;
    const ValueId copies =
        r_.build.Call("aten.expand_copy.default", {*single, *list},
                      r_.build.TensorType(dtype, wide));
    Shape together = sizes;
    together[heads] = q[heads];
    return r_.build.Reshape(copies, together);
  }

  // Row i sees columns up to i.
  ValueId Below(ValueId query, ValueId key) {
    const auto count = [&](ValueId v, const SymInt& size) {
      const auto rank = TypeOf(v).rank();
      return r_.build.Call("aten.arange.default", {r_.build.Size(v, rank - 2)},
                           {{"dtype", Operand::Dtype(DType::kInt64)}},
                           r_.build.TensorType(DType::kInt64, {size}));
    };
    const ValueId row =
        *r_.build.Reshape(count(query, rows_), {rows_, SymInt::Literal(1)});
    const ValueId column = count(key, columns_);
    return r_.build.Call("aten.le.Tensor", {column, row},
                         r_.build.TensorType(DType::kBool, {rows_, columns_}));
  }

  // -inf where `seen` is false.
  ValueId Hide(ValueId scores, ValueId seen, TypeId type) {
    const ValueId lowest =
        r_.build.Scalar(Arg::Float(-std::numeric_limits<double>::infinity()),
                        r_.result_type().dtype);
    return r_.build.Call("aten.where.self", {seen, scores, lowest}, type);
  }

  // A row that sees nothing gives zeros, as PyTorch's does; the softmax of
  // nothing but -inf isn't a number.
  ValueId WithoutHiddenRows(ValueId weights, ValueId scores, TypeId type) {
    Shape narrow = scores_;
    narrow.back() = SymInt::Literal(1);
    const double lowest = -std::numeric_limits<double>::infinity();
    const ValueId top = r_.build.Call(
        "aten.amax.default",
        {scores, Operand::Ints(std::vector<int64_t>{-1}), Operand::Bool(true)},
        r_.build.TensorType(r_.result_type().dtype, narrow));
    const ValueId is_hidden =
        r_.build.Call("aten.eq.Scalar", {top, Operand::Float(lowest)},
                      r_.build.TensorType(DType::kBool, narrow));
    const ValueId zero = r_.build.Scalar(Arg::Float(0), r_.result_type().dtype);
    return r_.build.Call("aten.where.self", {is_hidden, zero, weights}, type);
  }

  NodeRewrite& r_;
  const Layout layout_;
  SymInt rows_, columns_;
  Shape scores_;
};

Rewritten Lower(NodeRewrite& r, const Layout& layout, size_t dropout) {
  for (const size_t i : {0, 1, 2}) {
    if (!r.tensor(i).valid() || !IsFloating(r.type(i).dtype) ||
        r.type(i).rank() < 2 || r.type(i).rank() != r.type(0).rank()) {
      return Rewritten::kSkip;
    }
  }
  const auto p = r.Number(dropout);
  if (!p || *p != 0) return Rewritten::kSkip;
  for (size_t i = 1; i < r.num_results(); ++i) {
    if (r.is_used(i)) return Rewritten::kSkip;
  }
  const SymInt width = r.type(0).sizes.back();
  const auto given = r.Number(layout.scale);
  if (!given && (!width.is_literal() || width.value < 1)) {
    return Rewritten::kSkip;
  }
  const double scale =
      given ? *given : 1 / std::sqrt(static_cast<double>(width.value));
  return Attention(r, layout).Build(scale);
}

// (query, key, value, mask, dropout, causal, scale, grouped)
Rewritten ScaledDotProduct(NodeRewrite& r) { return Lower(r, {3, 5, 6, 7}, 4); }

// (query, key, value, dropout, causal, mask, scale)
Rewritten FlashForCpu(NodeRewrite& r) { return Lower(r, {5, 4, 6, 0}, 3); }

}  // namespace

std::vector<RuleRow> AttentionRules() {
  return {
      {"aten.scaled_dot_product_attention.default", ScaledDotProduct},
      {"aten._scaled_dot_product_flash_attention_for_cpu.default", FlashForCpu},
  };
}

}  // namespace tenon::lower
