// A tensor taken apart into a list.
#include <algorithm>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"
#include "support/checked.h"

namespace tenon {
namespace {

void Unbind(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim = call.Int(1);
  const auto d =
      self != nullptr && dim ? WrapDim(*dim, self->rank()) : std::nullopt;
  if (!d || !self->sizes[*d].is_literal()) return;
  const uint32_t count = call.num_results();
  for (int64_t i = 0; i < self->sizes[*d].value && i < count; ++i) {
    call.AddWithout(*self, *d);
  }
}

// An index as slices take it: from the end when negative, within the size.
int64_t ClampIndex(int64_t i, int64_t size) {
  if (i < 0) i += size;
  return std::clamp<int64_t>(i, 0, size);
}

enum SplitForm : uint32_t { kSize, kSizes, kChunks };

// Pieces of self along argument 2; argument 1 says how long or how many.
void Split(InferCall& call, uint32_t form) {
  const Type* self = call.Self();
  const auto dim = call.Int(2);
  const auto d =
      self != nullptr && dim ? WrapDim(*dim, self->rank()) : std::nullopt;
  if (!d) return;
  const uint32_t count = call.num_results();
  const InferredSize whole = InferredSize::Of(self->sizes[*d]);
  int64_t piece = -1;
  const bool is_empty = form != kSizes && whole.is_literal(0);
  if (const auto n = call.Int(1); n && *n > 0 && whole.is_literal()) {
    piece =
        form == kSize ? *n : (whole.value > 0 ? (whole.value - 1) / *n + 1 : 0);
  }
  const auto sizes = call.Items(1);
  for (uint32_t i = 0; i < count; ++i) {
    InferredSize& size = call.AddLike(*self).sizes[*d];
    size = is_empty ? whole : InferredSize::Unknown();
    if (form == kSizes) {
      if (i < sizes.size()) size = call.Size(sizes[i]);
    } else if (piece > 0) {
      const auto begin = CheckedMul(piece, i);
      if (begin && *begin < whole.value) {
        size = InferredSize::Literal(std::min(piece, whole.value - *begin));
      }
    }
  }
}

// Sections of one size, the first ones of one more where that leaves a rest.
void AddSections(InferCall& call, const Type& self, int dim, int64_t count) {
  const InferredSize whole = SizeAt(self, dim);
  for (int64_t i = 0; i < count && i < call.num_results(); ++i) {
    InferredSize& size = call.AddLike(self).sizes[dim];
    size = DividedBy(whole, count);
    if (whole.is_literal() && size.is_literal() && i < whole.value % count) {
      ++size.value;
    }
  }
}

// Parts that end at each of the indices, and the rest.
void AddParts(InferCall& call, const Type& self, int dim,
              std::span<const Arg> indices) {
  const InferredSize whole = SizeAt(self, dim);
  std::optional<int64_t> begin = 0;
  for (size_t i = 0; i <= indices.size() && i < call.num_results(); ++i) {
    InferredSize& size = call.AddLike(self).sizes[dim];
    size = InferredSize::Unknown();
    std::optional<int64_t> end;
    if (whole.is_literal()) end = whole.value;
    if (end && i < indices.size()) {
      end = indices[i].kind == ArgKind::kInt
                ? std::optional<int64_t>(ClampIndex(indices[i].i, whole.value))
                : std::nullopt;
    }
    if (begin && end) {
      size = InferredSize::Literal(std::max<int64_t>(*end - *begin, 0));
    }
    begin = end;
  }
}

// Which dimension is split.
enum Along : uint32_t { kArgument, kVertical, kHorizontal, kDepth };

std::optional<int> SplitDim(const InferCall& call, const Type& self,
                            uint32_t along) {
  switch (along) {
    case kVertical:
      return WrapDim(0, self.rank());
    case kHorizontal:
      return WrapDim(self.rank() == 1 ? 0 : 1, self.rank());
    case kDepth:
      return WrapDim(2, self.rank());
    default:
      break;
  }
  const auto dim = call.Int(2);
  return dim ? WrapDim(*dim, self.rank()) : std::nullopt;
}

void TensorSplit(InferCall& call, uint32_t along) {
  const Type* self = call.Self();
  const Arg* how = call.Get(1);
  if (self == nullptr || how == nullptr) return;
  const auto d = SplitDim(call, *self, along);
  if (!d) return;
  const Type* tensor = call.TensorOf(how);
  if (how->kind == ArgKind::kInt && how->i > 0) {
    AddSections(call, *self, *d, how->i);
  } else if (how->kind == ArgKind::kList) {
    AddParts(call, *self, *d, call.Items(1));
  } else if (tensor != nullptr && tensor->rank() == 0) {
    // A number of sections that the program knows by the results it takes.
    AddSections(call, *self, *d, call.num_results());
  } else if (tensor != nullptr) {
    for (uint32_t i = 0; i < call.num_results(); ++i) {
      call.AddLike(*self).sizes[*d] = InferredSize::Unknown();
    }
  }
}

constexpr InferRow kRows[] = {
    {"aten.unbind.int", Unbind},
    {"aten.split.Tensor", Split, kSize},
    {"aten.split_with_sizes.default", Split, kSizes},
    {"aten.split_with_sizes_copy.default", Split, kSizes},
    {"aten.chunk.default", Split, kChunks},
    {"aten.unbind_copy.int", Unbind},
    {"aten.unsafe_split.Tensor", Split, kSize},
    {"aten.split_copy.Tensor", Split, kSize},
    {"aten.unsafe_split_with_sizes.default", Split, kSizes},
    {"aten.split.sizes", Split, kSizes},
    {"aten.unsafe_chunk.default", Split, kChunks},
    {"aten.tensor_split.sections", TensorSplit, kArgument},
    {"aten.tensor_split.indices", TensorSplit, kArgument},
    {"aten.tensor_split.tensor_indices_or_sections", TensorSplit, kArgument},
    {"aten.vsplit.int", TensorSplit, kVertical},
    {"aten.vsplit.array", TensorSplit, kVertical},
    {"aten.hsplit.int", TensorSplit, kHorizontal},
    {"aten.hsplit.array", TensorSplit, kHorizontal},
    {"aten.dsplit.int", TensorSplit, kDepth},
    {"aten.dsplit.array", TensorSplit, kDepth},
};

}  // namespace

std::span<const InferRow> SplitRows() { return kRows; }

}  // namespace tenon
