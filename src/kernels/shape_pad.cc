// Padding: by a constant, by reflection, by replication, around a circle.
#include <algorithm>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// `pad` lists (before, after) for the last dimension first.
bool CheckPad(KernelCall& call, int64_t rank, const Sizes& pad) {
  if (pad.size() % 2 != 0) {
    return call.Fail("pad: the number of pad values must be even, found " +
                     std::to_string(pad.size()));
  }
  if (static_cast<int64_t>(pad.size()) > 2 * rank) {
    return call.Fail("pad: " + std::to_string(pad.size()) +
                     " pad values for a tensor of rank " +
                     std::to_string(rank));
  }
  for (int64_t p : pad) {
    if (p < -(int64_t{1} << 40) || p > (int64_t{1} << 40)) {
      return call.Fail("pad: pad value " + std::to_string(p) + " is too large");
    }
  }
  return true;
}

bool PadConstant(KernelCall& call, const Tensor& self, const Sizes& pad,
                 const RuntimeValue& value) {
  if (!CheckPad(call, self.dim(), pad)) return false;
  // Negative padding crops the input, positive padding crops the output.
  Tensor source = self;
  Sizes sizes = self.sizes();
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i);
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    sizes[dim] += before + after;
    const int64_t cut_before = std::max<int64_t>(-before, 0);
    const int64_t cut_after = std::max<int64_t>(-after, 0);
    const int64_t kept = source.size(dim) - cut_before - cut_after;
    if (kept < 0 || sizes[dim] < 0) {
      return call.Fail("pad: dimension " + std::to_string(dim) + " of size " +
                       std::to_string(source.size(dim)) + " becomes negative");
    }
    source = Narrowed(source, dim, cut_before, kept);
  }
  const bool only_crops =
      std::all_of(pad.begin(), pad.end(), [](int64_t p) { return p <= 0; });
  if (only_crops) {
    return ForwardTo(call, "aten.clone.default", {source});
  }
  Tensor out;
  if (!CheckSizes(call, sizes) ||
      !Allocate(call, self.dtype(), sizes,
                StridesFor(sizes, SuggestedFormat(self)), &out)) {
    return false;
  }
  FillScalar(&out, value);
  Tensor inner = out;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i);
    inner = Narrowed(inner, dim, std::max<int64_t>(pad[2 * i], 0),
                     source.size(dim));
  }
  inner.CopyFrom(source);
  call.Return(out);
  return true;
}

bool ConstantPadNd(KernelCall& call) {
  return PadConstant(call, call.tensor(0), call.Ints(1), call.arg(2));
}

enum class Border { kReflect, kReplicate, kCircular };

// The source index of output index `i`; `before` may be negative.
int64_t BorderIndex(Border border, int64_t i, int64_t before, int64_t size) {
  const int64_t at = i - before;
  switch (border) {
    case Border::kReplicate:
      return std::clamp<int64_t>(at, 0, size - 1);
    case Border::kReflect:
      if (at < 0) return -at;
      return at >= size ? 2 * (size - 1) - at : at;
    case Border::kCircular:
      return ((at % size) + size) % size;
  }
  return 0;
}

// Checks the padding of the last `spatial` dimensions of `sizes` and gives the
// padded sizes.
bool CheckBorder(KernelCall& call, Border border, int64_t spatial,
                 const Sizes& sizes, const Sizes& pad, Sizes* out) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  if (static_cast<int64_t>(pad.size()) != 2 * spatial) {
    return call.Fail("pad: expected " + std::to_string(2 * spatial) +
                     " pad values, found " + std::to_string(pad.size()));
  }
  if (!CheckPad(call, rank, pad)) return false;
  if (rank != spatial + 1 && rank != spatial + 2) {
    return call.Fail("pad: expected rank " + std::to_string(spatial + 1) +
                     " or " + std::to_string(spatial + 2) + ", found " +
                     std::to_string(rank));
  }
  // Only the batch may be empty.
  for (int64_t d = rank == spatial + 2 ? 1 : 0; d < rank; ++d) {
    if (sizes[d] == 0) return call.Fail("pad: empty dimension to pad from");
  }
  *out = sizes;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t dim = rank - 1 - i;
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t size = sizes[dim];
    if (border == Border::kReflect && (before >= size || after >= size)) {
      return call.Fail("reflection pad: padding must be less than the size " +
                       std::to_string(size) + " of dimension " +
                       std::to_string(dim));
    }
    if (border == Border::kCircular && (before > size || after > size)) {
      return call.Fail("circular pad: padding wraps around more than once");
    }
    (*out)[dim] = size + before + after;
    if ((*out)[dim] < 1) {
      return call.Fail("pad: dimension " + std::to_string(dim) +
                       " would have no elements");
    }
  }
  return true;
}

// Pads one dimension after the other: gathering along each in turn commutes.
bool PadBorder(KernelCall& call, Border border, int64_t spatial,
               const Tensor& self, const Sizes& pad) {
  Sizes sizes;
  if (!CheckBorder(call, border, spatial, self.sizes(), pad, &sizes)) {
    return false;
  }
  Tensor from = self;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t dim = self.dim() - 1 - i;
    Sizes step_sizes = from.sizes();
    step_sizes[dim] = sizes[dim];
    Tensor to;
    if (!AllocateZeros(call, self.dtype(), step_sizes, &to)) return false;
    for (int64_t k = 0; k < sizes[dim]; ++k) {
      const int64_t index = BorderIndex(border, k, pad[2 * i], self.size(dim));
      Selected(to, dim, k).CopyFrom(Selected(from, dim, index));
    }
    from = to;
  }
  // Only the 2-d and 3-d kernels of PyTorch keep channels_last.
  call.Return(ContiguousIn(from, SuggestedFormat(self)));
  return true;
}

template <Border kBorder, int kSpatial>
bool PadBorderNd(KernelCall& call) {
  return PadBorder(call, kBorder, kSpatial, call.tensor(0), call.Ints(1));
}

// Adds each gradient onto the element that was padded from.
template <Border kBorder, int kSpatial>
bool PadBorderBackward(KernelCall& call) {
  const Tensor& self = call.tensor(1);
  const Sizes pad = call.Ints(2);
  Sizes sizes;
  if (!CheckBorder(call, kBorder, kSpatial, self.sizes(), pad, &sizes)) {
    return false;
  }
  if (call.tensor(0).sizes() != sizes) {
    return call.Fail("pad backward: expected a gradient of sizes " +
                     ToText(sizes));
  }
  Tensor from = call.tensor(0);
  for (int64_t i = 0; i < kSpatial; ++i) {
    const int64_t dim = self.dim() - 1 - i;
    Sizes step_sizes = from.sizes();
    step_sizes[dim] = self.size(dim);
    Tensor to;
    if (!AllocateZeros(call, self.dtype(), step_sizes, &to)) return false;
    for (int64_t k = 0; k < sizes[dim]; ++k) {
      const int64_t index = BorderIndex(kBorder, k, pad[2 * i], self.size(dim));
      Tensor into = Selected(to, dim, index);
      Tensor sum;
      if (!CallKernel(call, "aten.add.Tensor", {into, Selected(from, dim, k)},
                      &sum)) {
        return false;
      }
      into.CopyFrom(sum);
    }
    from = to;
  }
  call.Return(ContiguousIn(from, SuggestedFormat(self)));
  return true;
}

// aten.pad: the mode by its name.
bool Pad(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const Sizes pad = call.Ints(1);
  const std::string& mode = call.arg(2).string();
  if (mode == "constant") {
    return PadConstant(call, self, pad,
                       call.is_none(3) ? RuntimeValue(0.0) : call.arg(3));
  }
  if (!call.is_none(3) && call.Float(3) != 0.0) {
    return call.Fail("pad: mode '" + mode + "' takes no value");
  }
  const int64_t spatial = static_cast<int64_t>(pad.size()) / 2;
  if (spatial < 1 || spatial > 3) {
    return call.Fail("pad: mode '" + mode + "' pads 1 to 3 dimensions");
  }
  if (mode == "reflect") {
    return PadBorder(call, Border::kReflect, spatial, self, pad);
  }
  if (mode == "replicate") {
    return PadBorder(call, Border::kReplicate, spatial, self, pad);
  }
  if (mode == "circular") {
    return PadBorder(call, Border::kCircular, spatial, self, pad);
  }
  return call.Fail("pad: unknown mode '" + mode + "'");
}

constexpr KernelEntry kEntries[] = {
    {"aten.constant_pad_nd.default", ConstantPadNd},
    {"aten.pad.default", Pad},
    {"aten.reflection_pad1d.default", PadBorderNd<Border::kReflect, 1>},
    {"aten.reflection_pad2d.default", PadBorderNd<Border::kReflect, 2>},
    {"aten.reflection_pad3d.default", PadBorderNd<Border::kReflect, 3>},
    {"aten.replication_pad1d.default", PadBorderNd<Border::kReplicate, 1>},
    {"aten.replication_pad2d.default", PadBorderNd<Border::kReplicate, 2>},
    {"aten.replication_pad3d.default", PadBorderNd<Border::kReplicate, 3>},
    {"aten.reflection_pad1d_backward.default",
     PadBorderBackward<Border::kReflect, 1>},
    {"aten.reflection_pad2d_backward.default",
     PadBorderBackward<Border::kReflect, 2>},
    {"aten.reflection_pad3d_backward.default",
     PadBorderBackward<Border::kReflect, 3>},
    {"aten.replication_pad1d_backward.default",
     PadBorderBackward<Border::kReplicate, 1>},
    {"aten.replication_pad2d_backward.default",
     PadBorderBackward<Border::kReplicate, 2>},
    {"aten.replication_pad3d_backward.default",
     PadBorderBackward<Border::kReplicate, 3>},
};

}  // namespace

std::span<const KernelEntry> ShapePadKernels() { return kEntries; }

}  // namespace tenon
