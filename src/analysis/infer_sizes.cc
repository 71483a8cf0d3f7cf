#include "analysis/infer_sizes.h"

#include <algorithm>
#include <optional>

#include "support/checked.h"

namespace tenon {
namespace {

using Kind = InferredSize::Kind;

InferredSize Of(std::optional<int64_t> v) {
  return v ? InferredSize::Literal(*v) : InferredSize::Unknown();
}

// Large enough for any tensor; keeps arithmetic on windows from overflowing.
bool IsModest(int64_t v) { return v >= 0 && v < (int64_t{1} << 31); }

bool IsModest(const WindowShape& w) {
  return IsModest(w.kernel) && w.kernel > 0 && IsModest(w.padding) &&
         w.stride > 0 && w.stride <= 1 << 20 && w.dilation > 0 &&
         w.dilation <= 1 << 20;
}

}  // namespace

InferredSize Plus(const InferredSize& a, const InferredSize& b) {
  if (a.is_literal(0)) return b;
  if (b.is_literal(0)) return a;
  if (!a.is_literal() || !b.is_literal()) return InferredSize::Unknown();
  return Of(CheckedAdd(a.value, b.value));
}

InferredSize Minus(const InferredSize& a, const InferredSize& b) {
  if (b.is_literal(0)) return a;
  if (!b.is_literal() || b.value == INT64_MIN) return InferredSize::Unknown();
  return Plus(a, InferredSize::Literal(-b.value));
}

InferredSize Times(const InferredSize& a, const InferredSize& b) {
  if (a.is_literal(1)) return b;
  if (b.is_literal(1)) return a;
  if (!a.is_literal() || !b.is_literal()) return InferredSize::Unknown();
  return Of(CheckedMul(a.value, b.value));
}

InferredSize DividedBy(const InferredSize& a, int64_t divisor) {
  if (divisor == 1) return a;
  if (!a.is_literal() || a.value < 0 || divisor <= 0) {
    return InferredSize::Unknown();
  }
  return InferredSize::Literal(a.value / divisor);
}

InferredSize Smaller(const InferredSize& a, const InferredSize& b) {
  if (AreEqual(a, b)) return a;
  if (!a.is_literal() || !b.is_literal()) return InferredSize::Unknown();
  return InferredSize::Literal(std::min(a.value, b.value));
}

bool AreEqual(const InferredSize& a, const InferredSize& b) {
  return a.kind != Kind::kUnknown && a == b;
}

bool Differ(const InferredSize& a, const InferredSize& b) {
  return a.is_literal() && b.is_literal() && a.value != b.value;
}

void SizeProduct::Times(const InferredSize& s) {
  if (s.kind == Kind::kUnknown) is_known_ = false;
  if (s.kind == Kind::kExpr) exprs_.push_back(s.expr);
  if (s.kind != Kind::kLiteral) return;
  const auto product = CheckedMul(literal_, s.value);
  is_known_ = is_known_ && product.has_value();
  literal_ = product.value_or(1);
}

InferredSize SizeProduct::AsSize() const { return Missing(SizeProduct()); }

InferredSize SizeProduct::Missing(const SizeProduct& part) const {
  if (!is_known_ || !part.is_known_ || part.literal_ == 0) {
    return InferredSize::Unknown();
  }
  std::vector<ExprId> left = exprs_;
  for (const ExprId e : part.exprs_) {
    const auto it = std::find(left.begin(), left.end(), e);
    if (it == left.end()) return InferredSize::Unknown();
    left.erase(it);
  }
  if (literal_ == 0) return InferredSize::Literal(0);
  if (left.empty() && literal_ % part.literal_ == 0) {
    return InferredSize::Literal(literal_ / part.literal_);
  }
  if (left.size() == 1 && literal_ == part.literal_) {
    return {0, left[0], Kind::kExpr};
  }
  return InferredSize::Unknown();
}

SizeProduct NumElements(const Type& t) {
  SizeProduct out;
  for (const SymInt& s : t.sizes) out.Times(InferredSize::Of(s));
  return out;
}

InferredSize NumWindows(const InferredSize& size, const WindowShape& w) {
  if (!size.is_literal() || !IsModest(size.value) || !IsModest(w)) {
    return InferredSize::Unknown();
  }
  const int64_t room = size.value + 2 * w.padding -
                       w.dilation * (w.kernel - 1) - 1 +
                       (w.round_up ? w.stride - 1 : 0);
  if (room < 0) return InferredSize::Unknown();
  int64_t count = room / w.stride + 1;
  if (w.round_up && (count - 1) * w.stride >= size.value + w.padding) --count;
  return InferredSize::Literal(count);
}

InferredSize Spread(const InferredSize& size, const WindowShape& w,
                    int64_t output_padding) {
  if (!size.is_literal() || !IsModest(size.value) || !IsModest(w) ||
      !IsModest(output_padding)) {
    return InferredSize::Unknown();
  }
  return InferredSize::Literal((size.value - 1) * w.stride - 2 * w.padding +
                               w.dilation * (w.kernel - 1) + output_padding +
                               1);
}

}  // namespace tenon
