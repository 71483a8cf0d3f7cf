#include "executorch/size_bounds.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "support/checked.h"

namespace tenon::executorch {
namespace {

constexpr int kMaxDepth = 100;
// PyTorch writes "no bound" as a number near the end of its integers.
constexpr int64_t kUnbounded = int64_t{1} << 62;

using Bound = std::optional<int64_t>;

Interval Add(const Interval& a, const Interval& b) {
  Interval out;
  if (a.min && b.min) out.min = CheckedAdd(*a.min, *b.min);
  if (a.max && b.max) out.max = CheckedAdd(*a.max, *b.max);
  return out;
}

bool IsBelowZero(const Interval& a) { return !a.min || *a.min < 0; }

Interval Multiply(const Interval& a, const Interval& b) {
  Interval out;
  if (!IsBelowZero(a) && !IsBelowZero(b)) {
    out.min = CheckedMul(*a.min, *b.min);
    if (a.max && b.max) out.max = CheckedMul(*a.max, *b.max);
    return out;
  }
  // A number times what is bounded on one side only.
  for (const auto& [factor, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!factor->min || factor->min != factor->max || *factor->min >= 0) {
      continue;
    }
    if (other->max) out.min = CheckedMul(*factor->min, *other->max);
    if (other->min) out.max = CheckedMul(*factor->min, *other->min);
    return out;
  }
  if (!a.min || !a.max || !b.min || !b.max) return out;
  for (const int64_t x : {*a.min, *a.max}) {
    for (const int64_t y : {*b.min, *b.max}) {
      const Bound p = CheckedMul(x, y);
      if (!p) return Interval();
      out.min = std::min(out.min.value_or(*p), *p);
      out.max = std::max(out.max.value_or(*p), *p);
    }
  }
  return out;
}

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

// Of a positive divisor.
Interval Divide(const Interval& a, const Interval& b) {
  Interval out;
  if (!b.min || *b.min < 1) return out;
  if (a.max) {
    out.max = *a.max >= 0 ? Bound(FloorDivide(*a.max, *b.min))
              : b.max     ? Bound(FloorDivide(*a.max, *b.max))
                          : -1;
  }
  if (a.min) {
    out.min = *a.min < 0 ? Bound(FloorDivide(*a.min, *b.min))
              : b.max    ? Bound(FloorDivide(*a.min, *b.max))
                         : 0;
  }
  return out;
}

Interval Modulo(const Interval& a, const Interval& b) {
  if (!b.min || *b.min < 1 || !b.max) return Interval();
  int64_t max = *b.max - 1;
  if (a.max && !IsBelowZero(a)) max = std::min(max, *a.max);
  return {0, max};
}

Interval Extremum(const Interval& a, const Interval& b, bool is_max) {
  Interval out;
  if (is_max) {
    if (a.max && b.max) out.max = std::max(*a.max, *b.max);
    if (a.min || b.min) {
      out.min = std::max(a.min.value_or(INT64_MIN), b.min.value_or(INT64_MIN));
    }
  } else {
    if (a.min && b.min) out.min = std::min(*a.min, *b.min);
    if (a.max || b.max) {
      out.max = std::min(a.max.value_or(INT64_MAX), b.max.value_or(INT64_MAX));
    }
  }
  return out;
}

// What both say.
Interval Both(const Interval& a, const Interval& b) {
  Interval out = a;
  if (b.min && (!out.min || *b.min > *out.min)) out.min = b.min;
  if (b.max && (!out.max || *b.max < *out.max)) out.max = b.max;
  return out;
}

}  // namespace

SizeBounds::SizeBounds(const Program& program) : program_(program) {
  for (const SymbolRange& range : program.ranges) {
    Interval interval{range.min, range.max};
    if (interval.max && *interval.max >= kUnbounded) interval.max.reset();
    if (interval.min && *interval.min <= -kUnbounded) interval.min.reset();
    stated_[range.expr.index] = Both(stated_[range.expr.index], interval);
  }
}

Interval SizeBounds::Of(ExprId expr) const { return Compute(expr, 0); }

Interval SizeBounds::Of(const SymInt& size) const {
  if (size.is_literal()) return {size.value, size.value};
  return Both(Of(size.expr), {0, std::nullopt});
}

void SizeBounds::Limit(ExprId expr, int64_t max) {
  stated_[expr.index] = Both(stated_[expr.index], {std::nullopt, max});
}

Interval SizeBounds::Compute(ExprId id, int depth) const {
  if (depth > kMaxDepth) return Interval();
  Interval stated;
  if (const auto found = stated_.find(id.index); found != stated_.end()) {
    stated = found->second;
  }
  const Expr& e = program_.context().exprs.get(id);
  if (e.kind == ExprKind::kInteger) return {e.a, e.a};
  if (e.kind != ExprKind::kCall || e.args.empty()) return stated;
  const std::string_view f = program_.view(e.text);
  std::vector<Interval> args;
  for (const ExprId arg : e.args) args.push_back(Compute(arg, depth + 1));
  Interval out = args[0];
  if (f == "Add" || f == "Mul" || f == "Max" || f == "Min") {
    for (size_t i = 1; i < args.size(); ++i) {
      out = f == "Add"   ? Add(out, args[i])
            : f == "Mul" ? Multiply(out, args[i])
                         : Extremum(out, args[i], f == "Max");
    }
  } else if (f == "FloorDiv" || f == "CleanDiv" || f == "IntTrueDiv") {
    out = args.size() == 2 ? Divide(args[0], args[1]) : Interval();
  } else if (f == "Mod" || f == "PythonMod") {
    out = args.size() == 2 ? Modulo(args[0], args[1]) : Interval();
  } else if (f == "Pow" && args.size() == 2 && args[1].min == args[1].max &&
             args[1].min && *args[1].min >= 0 && *args[1].min <= 64 &&
             !IsBelowZero(args[0])) {
    out = {1, 1};
    for (int64_t i = 0; i < *args[1].min; ++i) out = Multiply(out, args[0]);
  } else if (f != "TruncToInt" && f != "floor" && f != "ToFloat") {
    out = Interval();
  }
  return Both(stated, out);
}

}  // namespace tenon::executorch
