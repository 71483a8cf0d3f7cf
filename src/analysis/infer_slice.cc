// Parts of a tensor, and a tensor with a part replaced.
#include <algorithm>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// The length of [start, end) by step, as slice clamps them; both given as
// literals, over a literal size.
std::optional<int64_t> SliceLength(int64_t size, int64_t start, int64_t end,
                                   int64_t step) {
  if (step <= 0 || size < 0) return std::nullopt;
  const auto clamp = [size](int64_t i) {
    if (i < 0) i += size;
    return std::clamp<int64_t>(i, 0, size);
  };
  start = clamp(start);
  end = std::max(clamp(end), start);
  return start == end ? 0 : (end - start - 1) / step + 1;
}

std::optional<int64_t> IntOr(const InferCall& call, size_t i, int64_t none) {
  const Arg* a = call.Get(i);
  if (a == nullptr || a->kind == ArgKind::kNone) return none;
  if (a->kind != ArgKind::kInt) return std::nullopt;
  return a->i;
}

void Slice(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim = call.Int(1);
  if (self == nullptr || !dim) return;
  InferredType& out = call.AddLike(*self);
  const auto d = WrapDim(*dim, out.rank);
  if (!d) return;
  InferredSize& size = out.sizes[*d];
  const auto start = IntOr(call, 2, 0);
  const auto end = IntOr(call, 3, INT64_MAX);
  const auto step = call.Int(4);
  if (!start || !end || !step) {
    size = InferredSize::Unknown();
  } else if (size.is_literal()) {
    const auto length = SliceLength(size.value, *start, *end, *step);
    size = length ? InferredSize::Literal(*length) : InferredSize::Unknown();
  } else if (*start != 0 || *end != INT64_MAX || *step != 1) {
    size = InferredSize::Unknown();
  }
}

void Narrow(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim = call.Int(1);
  if (self == nullptr || !dim || call.Get(3) == nullptr) return;
  InferredType& out = call.AddLike(*self);
  if (const auto d = WrapDim(*dim, out.rank)) {
    out.sizes[*d] = call.Size(*call.Get(3));
  }
}

void Select(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim = call.Int(1);
  const auto d =
      self != nullptr && dim ? WrapDim(*dim, self->rank()) : std::nullopt;
  if (d) call.AddWithout(*self, *d);
}

constexpr InferRow kRows[] = {
    {"aten.slice.Tensor", Slice},
    {"aten.slice_copy.Tensor", Slice},
    {"aten.narrow.default", Narrow},
    {"aten.narrow.Tensor", Narrow},
    {"aten.narrow_copy.default", Narrow},
    {"aten.select.int", Select},
    {"aten.select_copy.int", Select},
    {"aten.slice_scatter.default", LikeArguments, LikeArg(0)},
    {"aten.select_scatter.default", LikeArguments, LikeArg(0)},
    {"aten.diagonal_scatter.default", LikeArguments, LikeArg(0)},
    {"aten.as_strided_scatter.default", LikeArguments, LikeArg(0)},
};

}  // namespace

std::span<const InferRow> SliceRows() { return kRows; }

}  // namespace tenon
