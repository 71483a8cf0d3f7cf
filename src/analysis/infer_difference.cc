// Differences of neighbours, slopes, and the areas between them.
#include <algorithm>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// Differences of neighbours, n times: each takes one away.
void Diff(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto n = call.Int(1), dim = call.Int(2);
  if (self == nullptr) return;
  Promotion promotion;
  InferredSize size = InferredSize::Unknown();
  promotion.AddTensor(self->dtype, self->rank() > 0);
  InferredType& out = call.AddLike(*self);
  const auto d = dim ? WrapDim(*dim, out.rank) : std::nullopt;
  if (d) size = out.sizes[*d];
  for (const size_t at : {size_t{3}, size_t{4}}) {
    const Type* more = call.Tensor(at);
    if (more == nullptr || n == 0) continue;
    promotion.AddTensor(more->dtype, more->rank() > 0);
    size = d && more->rank() == self->rank() ? Plus(size, SizeAt(*more, *d))
                                             : InferredSize::Unknown();
  }
  out.dtype = promotion.Result();
  if (!d) {
    out.rank = -1;
    return;
  }
  out.sizes[*d] = size;
  if (n == 0) return;
  out.sizes[*d] = n && size.is_literal()
                      ? InferredSize::Literal(std::max<int64_t>(
                            0, size.value - std::min(*n, size.value)))
                      : InferredSize::Unknown();
}

// Slopes along each dimension that is named, or all.
void Gradient(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const int at = call.schema().FindArg("dim");
  const int spacing = call.schema().FindArg("spacing");
  if (self == nullptr || at < 0) return;
  const bool is_all = !call.Has(static_cast<size_t>(at));
  const auto dims = call.Sizes(static_cast<size_t>(at));
  if (!is_all && !dims) return;
  const size_t count = is_all ? self->sizes.size() : dims->size();
  // Each spacing counts in its own slope: distances may be wider than self.
  const bool is_tensors =
      spacing >= 0 && !call.Items(static_cast<size_t>(spacing)).empty() &&
      call.TensorOf(&call.Items(static_cast<size_t>(spacing))[0]) != nullptr;
  const auto items = is_tensors ? call.Items(static_cast<size_t>(spacing))
                                : std::span<const Arg>();
  for (size_t i = 0; i < count && i < call.num_results(); ++i) {
    InferredType& out = call.AddLike(*self, ToFloating(self->dtype));
    out.is_default_dtype = out.dtype != self->dtype;
    const Type* points = i < items.size() ? call.TensorOf(&items[i]) : nullptr;
    if (points != nullptr && points->dtype != self->dtype) {
      out.dtype = DType::kUnknown;
    }
  }
}

// A row's parameter: whether the areas are summed, or each sum is kept.
enum Areas : uint32_t { kTotal, kRunning };

void Trapezoid(InferCall& call, uint32_t areas) {
  const Type *y = call.Self(), *x = call.Tensor(1);
  const auto dim = call.Int(2);
  if (y == nullptr || !dim) return;
  const auto d = WrapDim(*dim, y->rank());
  if (!d) return;
  Promotion promotion;
  promotion.AddTensor(y->dtype, true);
  if (!call.AddTo(&promotion, call.Get(1))) return;
  const DType promoted = promotion.Result();
  DType dtype = ToFloating(promoted);
  const InferredSize length = SizeAt(*y, *d);
  // Without any element there is nothing to divide.
  const bool may_be_empty = !length.is_literal() || length.value == 0;
  if (areas == kTotal && may_be_empty && dtype != y->dtype) {
    dtype = length.is_literal() ? y->dtype : DType::kUnknown;
  }
  InferredType& out = call.AddLike(*y, dtype);
  out.is_default_dtype =
      dtype != y->dtype && (dtype != promoted || promotion.is_default_dtype());
  if (x != nullptr && x->rank() > 1) {
    // Distances of their own per line: sizes are broadcast.
    if (x->rank() != y->rank() || may_be_empty) {
      out.rank = -1;
      return;
    }
    BroadcastInto(*x, &out);
  }
  if (areas == kTotal) {
    for (int i = *d; i + 1 < out.rank; ++i) out.sizes[i] = out.sizes[i + 1];
    --out.rank;
  } else {
    const InferredSize one = InferredSize::Literal(1);
    out.sizes[*d] = length.is_literal(0) ? length : Minus(length, one);
  }
}

constexpr InferRow kRows[] = {
    {"aten.diff.default", Diff},
    {"aten.gradient.scalarint", Gradient},
    {"aten.gradient.scalararray", Gradient},
    {"aten.gradient.array", Gradient},
    {"aten.gradient.scalarrayint", Gradient},
    {"aten.gradient.scalarrayarray", Gradient},
    {"aten.gradient.tensorarrayint", Gradient},
    {"aten.gradient.tensorarray", Gradient},
    {"aten.trapezoid.x", Trapezoid, kTotal},
    {"aten.trapezoid.dx", Trapezoid, kTotal},
    {"aten.trapz.x", Trapezoid, kTotal},
    {"aten.trapz.dx", Trapezoid, kTotal},
    {"aten.cumulative_trapezoid.x", Trapezoid, kRunning},
    {"aten.cumulative_trapezoid.dx", Trapezoid, kRunning},
};

}  // namespace

std::span<const InferRow> DifferenceRows() { return kRows; }

}  // namespace tenon
