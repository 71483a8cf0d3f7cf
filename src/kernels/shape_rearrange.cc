// Elements moved to other places: flip, roll, rot90, tril, pixel_shuffle,
// diagonals as matrices.
#include <algorithm>
#include <cstring>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool FlipTensor(KernelCall& call, const Tensor& self, Sizes dims, Tensor* out) {
  if (!WrapDims(call, self.dim(), &dims)) return false;
  if (!Allocate(call, self.dtype(), self.sizes(), LikeStrides(self), out)) {
    return false;
  }
  // Read backwards: a view of the output with negative strides.
  Sizes strides = out->strides();
  int64_t offset = out->offset();
  for (int64_t dim : dims) {
    if (self.dim() == 0 || self.size(dim) == 0) continue;
    offset += (self.size(dim) - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  out->View(self.sizes(), strides, offset).CopyFrom(self);
  return true;
}

bool ReturnFlipped(KernelCall& call, const Sizes& dims) {
  Tensor out;
  if (!FlipTensor(call, call.tensor(0), dims, &out)) return false;
  call.Return(out);
  return true;
}

bool Flip(KernelCall& call) { return ReturnFlipped(call, call.Ints(1)); }

bool FlipLr(KernelCall& call) {
  if (call.tensor(0).dim() < 2) {
    return call.Fail("fliplr: expected at least 2 dimensions");
  }
  return ReturnFlipped(call, {1});
}

bool FlipUd(KernelCall& call) {
  if (call.tensor(0).dim() < 1) {
    return call.Fail("flipud: expected at least 1 dimension");
  }
  return ReturnFlipped(call, {0});
}

bool Rot90(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  Sizes dims = call.Ints(2);
  if (self.dim() < 2) return call.Fail("rot90: expected 2 dimensions or more");
  if (dims.size() != 2) return call.Fail("rot90: expected two dims");
  if (!WrapDims(call, self.dim(), &dims)) return false;
  const int64_t turns = ((call.Int(1) % 4) + 4) % 4;
  if (turns == 0) {
    return ForwardTo(call, "aten.clone.default",
                     {self, MemoryFormat::kContiguous});
  }
  Sizes flipped = dims;
  if (turns == 1) flipped = {dims[1]};
  if (turns == 3) flipped = {dims[0]};
  Tensor out;
  if (!FlipTensor(call, self, flipped, &out)) return false;
  call.Return(turns == 2 ? out : Transposed(out, dims[0], dims[1]));
  return true;
}

bool RollDim(KernelCall& call, const Tensor& self, int64_t shift, int64_t dim,
             Tensor* out) {
  if (self.dim() == 0) return call.Fail("roll: the tensor has no dimensions");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const int64_t size = self.size(dim);
  if (size == 0) {
    *out = self.Clone();
    return out->defined() || call.Fail("roll: out of memory");
  }
  const int64_t cut = ((-(shift % size)) % size + size) % size;
  return CallKernel(call, "aten.cat.default",
                    {TensorList({Narrowed(self, dim, cut, size - cut),
                                 Narrowed(self, dim, 0, cut)}),
                     dim},
                    out);
}

bool Roll(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const Sizes shifts = call.Ints(1), dims = call.Ints(2);
  if (shifts.empty()) return call.Fail("roll: no shifts given");
  if (dims.empty() && shifts.size() == 1) {
    const Tensor flat = Reshaped(self.Contiguous(), {self.numel()});
    Tensor rolled;
    if (!RollDim(call, flat, shifts[0], 0, &rolled)) return false;
    call.Return(Reshaped(rolled, self.sizes()));
    return true;
  }
  if (shifts.size() != dims.size()) {
    return call.Fail("roll: " + std::to_string(shifts.size()) + " shifts for " +
                     std::to_string(dims.size()) + " dims");
  }
  Tensor out = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!RollDim(call, out, shifts[i], dims[i], &out)) return false;
  }
  call.Return(out);
  return true;
}

// Keeps the elements on one side of a diagonal of the last two dimensions.
bool Triangle(KernelCall& call, bool lower) {
  const Tensor& self = call.tensor(0);
  if (self.dim() < 2) {
    return call.Fail("tril/triu: expected at least 2 dimensions");
  }
  const int64_t rows = self.size(self.dim() - 2);
  const int64_t columns = self.size(self.dim() - 1);
  const int64_t diagonal = std::clamp(call.Int(1), -rows - 1, columns + 1);
  Tensor out;
  if (!AllocateZeros(call, self.dtype(), self.sizes(), &out)) return false;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t cut =
        std::clamp<int64_t>(r + diagonal + (lower ? 1 : 0), 0, columns);
    const int64_t start = lower ? 0 : cut;
    const int64_t count = lower ? cut : columns - cut;
    const int64_t row_dim = self.dim() - 2;
    Narrowed(Selected(out, row_dim, r), row_dim, start, count)
        .CopyFrom(Narrowed(Selected(self, row_dim, r), row_dim, start, count));
  }
  call.Return(out);
  return true;
}

bool Tril(KernelCall& call) { return Triangle(call, true); }
bool Triu(KernelCall& call) { return Triangle(call, false); }

// Row-major (row, column) pairs of a triangle, as a [2, n] tensor.
template <bool kLower>
bool TriangleIndices(KernelCall& call) {
  const int64_t rows = call.Int(0), columns = call.Int(1);
  const int64_t offset = call.Int(2);
  if (rows < 0 || columns < 0) {
    return call.Fail("tril_indices: negative size");
  }
  const auto* given = std::get_if<DType>(&call.arg(3).variant());
  const DType dtype = given != nullptr ? *given : DType::kInt64;
  if (!CheckSizes(call, {rows, columns})) return false;
  const int64_t diagonal = std::clamp(offset, -rows - 1, columns + 1);
  const auto range = [&](int64_t r) {
    const int64_t cut =
        std::clamp<int64_t>(r + diagonal + (kLower ? 1 : 0), 0, columns);
    return kLower ? std::pair<int64_t, int64_t>(0, cut)
                  : std::pair<int64_t, int64_t>(cut, columns);
  };
  if (rows > (int64_t{1} << 32)) return call.Fail("tril_indices: too large");
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    count += range(r).second - range(r).first;
  }
  Tensor out;
  if (!Allocate(call, dtype, {2, count}, &out)) return false;
  std::vector<int64_t> values;
  for (int64_t r = 0; r < rows; ++r) {
    values.insert(values.end(),
                  static_cast<size_t>(range(r).second - range(r).first), r);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = range(r).first; c < range(r).second; ++c) {
      values.push_back(c);
    }
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

// [.., C*r*r, H, W] -> [.., C, H*r, W*r].
bool PixelShuffle(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t r = call.Int(1);
  if (self.dim() < 3) {
    return call.Fail("pixel_shuffle: expected at least 3 dimensions");
  }
  if (r <= 0 || r > (1 << 20)) {
    return call.Fail("pixel_shuffle: bad upscale_factor " + std::to_string(r));
  }
  const int64_t lead = self.dim() - 3;
  const int64_t c = self.size(lead), h = self.size(lead + 1);
  const int64_t w = self.size(lead + 2);
  if (c % (r * r) != 0) {
    return call.Fail("pixel_shuffle: " + std::to_string(c) +
                     " channels are not divisible by the square of " +
                     std::to_string(r));
  }
  Sizes apart(self.sizes().begin(), self.sizes().begin() + lead);
  Sizes sizes = apart;
  apart.insert(apart.end(), {c / (r * r), r, r, h, w});
  sizes.insert(sizes.end(), {c / (r * r), h * r, w * r});
  Sizes order;
  for (int64_t d = 0; d < lead; ++d) order.push_back(d);
  for (int64_t d : {0, 3, 1, 4, 2}) order.push_back(lead + d);
  if (!CheckSizes(call, apart) || !CheckSizes(call, sizes)) return false;
  const Tensor shuffled = FreshCopy(Permuted(Reshaped(self, apart), order));
  if (!shuffled.defined()) return call.Fail("pixel_shuffle: out of memory");
  call.Return(ContiguousIn(Reshaped(shuffled, sizes), SuggestedFormat(self)));
  return true;
}

bool PixelUnshuffle(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t r = call.Int(1);
  if (self.dim() < 3) {
    return call.Fail("pixel_unshuffle: expected at least 3 dimensions");
  }
  if (r <= 0 || r > (1 << 20)) {
    return call.Fail("pixel_unshuffle: bad downscale_factor " +
                     std::to_string(r));
  }
  const int64_t lead = self.dim() - 3;
  const int64_t c = self.size(lead), h = self.size(lead + 1);
  const int64_t w = self.size(lead + 2);
  if (h % r != 0 || w % r != 0) {
    return call.Fail("pixel_unshuffle: height and width must be divisible by " +
                     std::to_string(r));
  }
  Sizes apart(self.sizes().begin(), self.sizes().begin() + lead);
  Sizes sizes = apart;
  apart.insert(apart.end(), {c, h / r, r, w / r, r});
  sizes.insert(sizes.end(), {c * r * r, h / r, w / r});
  Sizes order;
  for (int64_t d = 0; d < lead; ++d) order.push_back(d);
  for (int64_t d : {0, 2, 4, 1, 3}) order.push_back(lead + d);
  if (!CheckSizes(call, apart) || !CheckSizes(call, sizes)) return false;
  const Tensor shuffled = FreshCopy(Permuted(Reshaped(self, apart), order));
  if (!shuffled.defined()) return call.Fail("pixel_unshuffle: out of memory");
  call.Return(ContiguousIn(Reshaped(shuffled, sizes), SuggestedFormat(self)));
  return true;
}

bool ChannelShuffle(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t groups = call.Int(1);
  if (self.dim() < 3) {
    return call.Fail("channel_shuffle: expected at least 3 dimensions");
  }
  if (groups <= 0 || self.size(1) % groups != 0) {
    return call.Fail("channel_shuffle: channels are not divisible by groups");
  }
  Sizes apart = self.sizes();
  apart[1] /= groups;
  apart.insert(apart.begin() + 1, groups);
  const Tensor shuffled = FreshCopy(Transposed(Reshaped(self, apart), 1, 2));
  if (!shuffled.defined()) return call.Fail("channel_shuffle: out of memory");
  call.Return(
      ContiguousIn(Reshaped(shuffled, self.sizes()), SuggestedFormat(self)));
  return true;
}

// The last dimension becomes a diagonal of a matrix of zeros.
bool DiagEmbedTensor(KernelCall& call, const Tensor& self, int64_t offset,
                     int64_t dim1, int64_t dim2) {
  const int64_t rank = self.dim() + 1;
  if (self.dim() == 0) return call.Fail("diag_embed: 0-d tensor");
  if (!WrapDim(call, rank, &dim1) || !WrapDim(call, rank, &dim2)) return false;
  if (dim1 == dim2) {
    return call.Fail("diagonal dimensions cannot be identical");
  }
  if (offset < -(int64_t{1} << 40) || offset > (int64_t{1} << 40)) {
    return call.Fail("diag_embed: offset too large");
  }
  const int64_t size = self.size(self.dim() - 1) + std::abs(offset);
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 1);
  sizes.insert(sizes.begin() + std::min(dim1, dim2), size);
  sizes.insert(sizes.begin() + std::max(dim1, dim2), size);
  Tensor out, diagonal;
  if (!AllocateZeros(call, self.dtype(), sizes, &out) ||
      !CallKernel(call, "aten.diagonal.default", {out, offset, dim1, dim2},
                  &diagonal)) {
    return false;
  }
  diagonal.CopyFrom(self);
  call.Return(out);
  return true;
}

bool DiagEmbed(KernelCall& call) {
  return DiagEmbedTensor(call, call.tensor(0), call.Int(1), call.Int(2),
                         call.Int(3));
}

bool Diag(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (self.dim() == 1) return DiagEmbedTensor(call, self, call.Int(1), 0, 1);
  if (self.dim() == 2) {
    return ForwardTo(call, "aten.diagonal_copy.default",
                     {self, call.Int(1), int64_t{0}, int64_t{1}});
  }
  return call.Fail("diag: expected a 1-d or 2-d tensor");
}

bool DiagFlat(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  return DiagEmbedTensor(call, Reshaped(self.Contiguous(), {self.numel()}),
                         call.Int(1), 0, 1);
}

// Sums over the dimensions that broadcasting to self's sizes would add.
bool SumToSize(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const Sizes sizes = call.Ints(1);
  if (!CheckSizes(call, sizes)) return false;
  if (!BroadcastsTo(sizes, self.sizes())) {
    return call.Fail("sum_to_size: sizes " + ToText(sizes) +
                     " do not expand to " + ToText(self.sizes()));
  }
  const int64_t lead = self.dim() - static_cast<int64_t>(sizes.size());
  Sizes dims;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d < lead || (sizes[d - lead] == 1 && self.size(d) != 1)) {
      dims.push_back(d);
    }
  }
  Tensor out = self;
  if (sizes.empty()) return ForwardTo(call, "aten.sum.default", {self});
  if (!dims.empty() && !CallKernel(call, "aten.sum.dim_IntList",
                                   {self, IntList(dims), true}, &out)) {
    return false;
  }
  for (int64_t d = 0; d < lead; ++d) out = Squeezed(out, 0);
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.flip.default", Flip},
    {"aten.fliplr.default", FlipLr},
    {"aten.flipud.default", FlipUd},
    {"aten.rot90.default", Rot90},
    {"aten.roll.default", Roll},
    {"aten.tril.default", Tril},
    {"aten.triu.default", Triu},
    {"aten.tril_indices.default", TriangleIndices<true>},
    {"aten.triu_indices.default", TriangleIndices<false>},
    {"aten.pixel_shuffle.default", PixelShuffle},
    {"aten.pixel_unshuffle.default", PixelUnshuffle},
    {"aten.channel_shuffle.default", ChannelShuffle},
    {"aten.diag_embed.default", DiagEmbed},
    {"aten.diag.default", Diag},
    {"aten.diagflat.default", DiagFlat},
    {"aten.sum_to_size.default", SumToSize},
};

}  // namespace

std::span<const KernelEntry> ShapeRearrangeKernels() { return kEntries; }

}  // namespace tenon
