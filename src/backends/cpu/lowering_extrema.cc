// Extrema with their places, medians, modes, and what sorts lines.
//
// NaN is an extreme of both kinds, and the largest to a sort; the first of
// equal extremes is found, and equal elements keep their order.
#include <algorithm>
#include <string>

#include "backends/cpu/lowering_lines.h"
#include "kernels/ordering.h"
#include "kernels/reduction.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// --- functions of lines ---

// The value and place that `find` gives for each line.
template <typename T, typename F>
void ForEachLine(const LineArgs& args, F find) {
  const T* line = static_cast<const T*>(args.x);
  for (int64_t i = 0; i < args.count; ++i, line += args.length) {
    const int64_t at = find(line);
    if (args.values != nullptr) static_cast<T*>(args.values)[i] = line[at];
    if (args.indices != nullptr) args.indices[i] = at;
  }
}

template <typename T, bool kMax>
void FindExtreme(const LineArgs& args) {
  ForEachLine<T>(args, [&](const T* line) {
    int64_t best = 0;
    for (int64_t i = 1; i < args.length && !IsNan(line[best]); ++i) {
      const bool is_better = kMax ? line[i] > line[best] : line[i] < line[best];
      if (is_better || IsNan(line[i])) best = i;
    }
    return best;
  });
}

// Numbers `order`, and gives the order of the line's elements: by value, then
// by place.
template <typename T>
auto StartOrder(const LineArgs& args, const T* line, bool descending) {
  for (int64_t i = 0; i < args.length; ++i) args.order[i] = i;
  return [line, descending](int64_t a, int64_t b) {
    const T x = line[a], y = line[b];
    if (descending ? SortsBefore(y, x) : SortsBefore(x, y)) return true;
    if (descending ? SortsBefore(x, y) : SortsBefore(y, x)) return false;
    return a < b;
  };
}

// The place of the k-th smallest element.
template <typename T>
int64_t Kth(const LineArgs& args, const T* line, int64_t k) {
  const auto before = StartOrder(args, line, false);
  std::nth_element(args.order, args.order + k, args.order + args.length,
                   before);
  return args.order[k];
}

// p = k.
template <typename T>
void FindKth(const LineArgs& args) {
  ForEachLine<T>(args, [&](const T* line) {
    return Kth(args, line, static_cast<int64_t>(args.p));
  });
}

// The lower middle; NaN if there is one, unless those are left out.
template <typename T, bool kSkipsNan>
void FindMedian(const LineArgs& args) {
  ForEachLine<T>(args, [&](const T* line) {
    const T* end = line + args.length;
    const auto is_nan = [](T x) { return IsNan(x); };
    const int64_t nans = std::count_if(line, end, is_nan);
    if (nans > 0 && (!kSkipsNan || nans == args.length)) {
      return static_cast<int64_t>(std::find_if(line, end, is_nan) - line);
    }
    return Kth(args, line, (args.length - nans - 1) / 2);
  });
}

// The most frequent value, the smallest of those; its last place.
template <typename T>
void FindMode(const LineArgs& args) {
  ForEachLine<T>(args, [&](const T* line) {
    const auto before = StartOrder(args, line, false);
    std::sort(args.order, args.order + args.length, before);
    int64_t best = 0, most = 0;
    for (int64_t begin = 0, end = 1; begin < args.length; begin = end) {
      end = begin + 1;
      while (end < args.length &&
             line[args.order[end]] == line[args.order[begin]]) {
        ++end;
      }
      if (end - begin > most) {
        most = end - begin;
        best = args.order[end - 1];
      }
    }
    return best;
  });
}

// The first `kept` elements in order.
template <typename T, bool kDescending>
void SortLines(const LineArgs& args) {
  const T* line = static_cast<const T*>(args.x);
  T* values = static_cast<T*>(args.values);
  int64_t* indices = args.indices;
  for (int64_t i = 0; i < args.count; ++i, line += args.length) {
    const auto before = StartOrder(args, line, kDescending);
    if (args.kept < args.length) {
      std::partial_sort(args.order, args.order + args.kept,
                        args.order + args.length, before);
    } else {
      std::sort(args.order, args.order + args.length, before);
    }
    for (int64_t k = 0; k < args.kept; ++k) {
      if (values != nullptr) *values++ = line[args.order[k]];
      if (indices != nullptr) *indices++ = args.order[k];
    }
  }
}

}  // namespace

const LineFunctions kMaximumOfLines = {"maximum", FindExtreme<float, true>,
                                       FindExtreme<double, true>,
                                       FindExtreme<int64_t, true>};
const LineFunctions kMinimumOfLines = {"minimum", FindExtreme<float, false>,
                                       FindExtreme<double, false>,
                                       FindExtreme<int64_t, false>};

namespace {

constexpr LineFunctions kKth = {"kth_value", FindKth<float>, FindKth<double>,
                                FindKth<int64_t>};
constexpr LineFunctions kMedian = {"median", FindMedian<float, false>,
                                   FindMedian<double, false>,
                                   FindMedian<int64_t, false>};
constexpr LineFunctions kNanMedian = {"median", FindMedian<float, true>,
                                      FindMedian<double, true>,
                                      FindMedian<int64_t, true>};
constexpr LineFunctions kMode = {"mode", FindMode<float>, FindMode<double>,
                                 FindMode<int64_t>};
constexpr LineFunctions kAscending = {"sort", SortLines<float, false>,
                                      SortLines<double, false>,
                                      SortLines<int64_t, false>};
constexpr LineFunctions kDescending = {"sort", SortLines<float, true>,
                                       SortLines<double, true>,
                                       SortLines<int64_t, true>};

// --- extrema ---

template <bool kMax>
constexpr const LineFunctions* kExtreme =
    kMax ? &kMaximumOfLines : &kMinimumOfLines;

bool NeedElements(KernelCall& call, const LineOperation& op) {
  return LengthOf(op) > 0 ||
         call.Fail("an extreme of no elements isn't defined");
}

template <bool kMax>
bool Whole(PlanBuilder& b, KernelCall& call, const Lowering&) {
  LineOperation op = {kExtreme<kMax>, call.tensor(0), {}};
  op.reduced.assign(op.x.sizes().size(), true);
  return NeedElements(call, op) &&
         EmitReduction(b, call, op, false, op.x.dtype(), false);
}

bool AminMax(PlanBuilder& b, KernelCall& call, const Lowering&) {
  LineOperation op = {&kMinimumOfLines, call.tensor(0), {}};
  if (!ReadLineDims(call, 1, true, &op.reduced) || !NeedElements(call, op) ||
      !EmitReduction(b, call, op, call.Bool(2), op.x.dtype(), false)) {
    return false;
  }
  op.functions = &kMaximumOfLines;
  return EmitReduction(b, call, op, call.Bool(2), op.x.dtype(), false);
}

template <bool kMax>
bool ByDim(PlanBuilder& b, KernelCall& call, const Lowering&) {
  LineOperation op = {kExtreme<kMax>, call.tensor(0), {}};
  return ReadLineDims(call, 1, false, &op.reduced) && NeedElements(call, op) &&
         EmitReduction(b, call, op, call.Bool(2), op.x.dtype(), true);
}

// Without a dimension, places count row by row.
template <bool kMax>
bool ArgExtreme(PlanBuilder& b, KernelCall& call, const Lowering&) {
  LineOperation op = {kExtreme<kMax>, call.tensor(0), {}};
  if (op.x.dtype() == DType::kBool) return call.Fail("argmax of bool");
  return ReadLineDims(call, 1, true, &op.reduced) && NeedElements(call, op) &&
         EmitReduction(b, call, op, call.Bool(2), DType::kUnknown, true);
}

// --- order statistics ---

bool KthValue(PlanBuilder& b, KernelCall& call, const Lowering&) {
  LineOperation op = {
      &kKth, call.tensor(0), {}, true, static_cast<double>(call.Int(1) - 1)};
  if (!ReadLineDims(call, 2, false, &op.reduced)) return false;
  if (op.p < 0 || call.Int(1) > LengthOf(op)) {
    return call.Fail("k lies outside the dimension");
  }
  return EmitReduction(b, call, op, call.Bool(3), op.x.dtype(), true);
}

template <const LineFunctions& kFunctions>
bool PlaceByDim(PlanBuilder& b, KernelCall& call, const Lowering&) {
  LineOperation op = {&kFunctions, call.tensor(0), {}, true};
  return ReadLineDims(call, 1, false, &op.reduced) && NeedElements(call, op) &&
         EmitReduction(b, call, op, call.Bool(2), op.x.dtype(), true);
}

// --- sorts ---

bool SortBy(PlanBuilder& b, KernelCall& call, size_t dim_arg, bool has_values) {
  const Tensor& self = call.tensor(0);
  LineOperation op = {
      call.Bool(dim_arg + 1) ? &kDescending : &kAscending, self, {}, true};
  if (!ReadLineDims(call, dim_arg, false, &op.reduced)) return false;
  return EmitScan(b, call, op, LengthOf(op), LikeStrides(self),
                  has_values ? self.dtype() : DType::kUnknown, true);
}

bool Sort(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return SortBy(b, call, 1, true);
}
bool SortStable(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return SortBy(b, call, 2, true);
}
bool Argsort(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return SortBy(b, call, 1, false);
}
bool ArgsortStable(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return SortBy(b, call, 2, false);
}

// Sorted whether asked for or not.
bool TopK(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  const int64_t k = call.Int(1);
  int64_t dim = call.Int(2);
  if (self.dtype() == DType::kBool) return call.Fail("topk of bool");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  LineOperation op = {
      call.Bool(3) ? &kDescending : &kAscending, self, {}, true};
  if (!ReadLineDims(call, 2, false, &op.reduced)) return false;
  if (k < 0 || k > LengthOf(op)) {
    return call.Fail("k is " + std::to_string(k) + ", but the dimension has " +
                     std::to_string(LengthOf(op)) + " elements");
  }
  Sizes sizes = self.sizes();
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = k;
  return EmitScan(b, call, op, self.dim() == 0 ? 1 : k,
                  ContiguousStrides(sizes), self.dtype(), true);
}

std::optional<Refusal> RefuseBool(const Program& program, NodeId node) {
  const Arg* self = program.FindArg(node, "self");
  if (self == nullptr || !self->is_value() ||
      program.type(self->value()).dtype != DType::kBool) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kDtype, "bool"};
}

constexpr Lowering Op(std::string_view name, LowerFn lower,
                      RefuseFn refuses = nullptr) {
  return {name,   LoweringKind::kPure, lower, DTypeRule::kHeld, TileOp::kCopy,
          refuses};
}

constexpr Lowering kLowerings[] = {
    Op("aten.max.default", Whole<true>),
    Op("aten.min.default", Whole<false>),
    Op("aten.aminmax.default", AminMax),
    Op("aten.max.dim", ByDim<true>),
    Op("aten.min.dim", ByDim<false>),
    Op("aten.argmax.default", ArgExtreme<true>, RefuseBool),
    Op("aten.argmin.default", ArgExtreme<false>, RefuseBool),
    Op("aten.kthvalue.default", KthValue),
    Op("aten.median.dim", PlaceByDim<kMedian>),
    Op("aten.nanmedian.dim", PlaceByDim<kNanMedian>),
    Op("aten.mode.default", PlaceByDim<kMode>),
    Op("aten.sort.default", Sort),
    Op("aten.sort.stable", SortStable),
    Op("aten.argsort.default", Argsort),
    Op("aten.argsort.stable", ArgsortStable),
    Op("aten.topk.default", TopK, RefuseBool),
};

}  // namespace

std::span<const Lowering> ExtremaLowerings() { return kLowerings; }

}  // namespace tenon::cpu
