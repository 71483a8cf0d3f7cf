// Borders and blocks: sizes that grow or shrink by what is given.
#include <algorithm>
#include <array>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"
#include "support/checked.h"

namespace tenon {
namespace {

// Pairs from the last dimension on: before, after.
void Pad(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto items = call.Items(1);
  if (self == nullptr || items.size() % 2 != 0 ||
      items.size() / 2 > self->sizes.size()) {
    return;
  }
  InferredType& out = call.AddLike(*self);
  for (size_t i = 0; i < items.size(); i += 2) {
    InferredSize& size = out.sizes[out.rank - 1 - static_cast<int>(i / 2)];
    const InferredSize before = call.Size(items[i]);
    const InferredSize after = call.Size(items[i + 1]);
    if (before.is_literal(0) && after.is_literal(0)) continue;
    std::optional<int64_t> sum;
    if (size.is_literal() && before.is_literal() && after.is_literal()) {
      sum = CheckedAdd(size.value, before.value);
      if (sum) sum = CheckedAdd(*sum, after.value);
    }
    size = sum ? InferredSize::Literal(*sum) : InferredSize::Unknown();
  }
}

// Channels become space, `factor` times in height and width; `kUnshuffle`:
// space becomes channels.
enum ShuffleForm : uint32_t { kShuffle, kUnshuffle };

void PixelShuffle(InferCall& call, uint32_t form) {
  const Type* self = call.Self();
  const auto factor = call.Int(1);
  if (self == nullptr || self->rank() < 3 || !factor || *factor < 1 ||
      *factor > 1 << 15) {
    return;
  }
  InferredType& out = call.AddLike(*self);
  const InferredSize squared = InferredSize::Literal(*factor * *factor);
  for (int d = out.rank - 3; d < out.rank; ++d) {
    const bool is_channel = d == out.rank - 3;
    const InferredSize by =
        is_channel ? squared : InferredSize::Literal(*factor);
    out.sizes[d] = is_channel == (form == kShuffle)
                       ? DividedBy(out.sizes[d], by.value)
                       : Times(out.sizes[d], by);
  }
}

// Both of a pair; a single item stands for both.
std::optional<std::array<int64_t, 2>> Pair(const InferCall& call, size_t i) {
  const auto items = call.Ints(i);
  if (!items || items->empty() || items->size() > 2) return std::nullopt;
  return std::array<int64_t, 2>{items->front(), items->back()};
}

// Blocks as columns: channels times the kernel's elements, and the places at
// which it fits.
void ImageToColumns(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto kernel = Pair(call, 1), dilation = Pair(call, 2);
  const auto padding = Pair(call, 3), stride = Pair(call, 4);
  if (self == nullptr || self->rank() < 3 || self->rank() > 4) return;
  const int rank = static_cast<int>(self->rank()) - 1;
  InferredType& out = call.AddTensor(self->dtype, rank);
  if (rank == 3) out.sizes[0] = SizeAt(*self, 0);
  if (!kernel || !dilation || !padding || !stride) return;
  SizeProduct channels, places;
  channels.Times(SizeAt(*self, -3));
  for (size_t i = 0; i < 2; ++i) {
    channels.Times(InferredSize::Literal((*kernel)[i]));
    places.Times(NumWindows(
        SizeAt(*self, static_cast<int64_t>(i) - 2),
        {(*kernel)[i], (*stride)[i], (*padding)[i], (*dilation)[i], false}));
  }
  out.sizes[rank - 2] = channels.AsSize();
  out.sizes[rank - 1] = places.AsSize();
}

void ColumnsToImage(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto output = call.Sizes(1);
  const auto kernel = Pair(call, 2);
  if (self == nullptr || self->rank() < 2 || self->rank() > 3) return;
  const int rank = static_cast<int>(self->rank()) + 1;
  InferredType& out = call.AddTensor(self->dtype, rank);
  if (rank == 4) out.sizes[0] = SizeAt(*self, 0);
  if (kernel) {
    const auto elements = CheckedMul((*kernel)[0], (*kernel)[1]);
    out.sizes[rank - 3] = DividedBy(SizeAt(*self, -2), elements.value_or(0));
  }
  if (output && !output->empty() && output->size() <= 2) {
    out.sizes[rank - 2] = output->front();
    out.sizes[rank - 1] = output->back();
  }
}

constexpr InferRow kRows[] = {
    {"aten.pad.default", Pad},
    {"aten.constant_pad_nd.default", Pad},
    {"aten.reflection_pad1d.default", Pad},
    {"aten.reflection_pad2d.default", Pad},
    {"aten.reflection_pad3d.default", Pad},
    {"aten.replication_pad1d.default", Pad},
    {"aten.replication_pad2d.default", Pad},
    {"aten.replication_pad3d.default", Pad},
    {"aten.pixel_shuffle.default", PixelShuffle, kShuffle},
    {"aten.pixel_unshuffle.default", PixelShuffle, kUnshuffle},
    {"aten.im2col.default", ImageToColumns},
    {"aten.col2im.default", ColumnsToImage},
};

}  // namespace

std::span<const InferRow> PadRows() { return kRows; }

}  // namespace tenon
