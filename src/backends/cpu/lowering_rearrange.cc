// Elements moved to other places: flips, rolls, triangles, diagonals, shuffles.
#include <algorithm>
#include <string>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/lowering_stretches.h"
#include "backends/cpu/plan_chain.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// --- flip, rot90 ---

bool FlipDims(PlanBuilder& b, KernelCall& call, Sizes dims) {
  const Tensor& self = call.tensor(0);
  if (!WrapDims(call, self.dim(), &dims)) return false;
  Stretches stretches;
  for (const int64_t size : self.sizes()) stretches.push_back(Whole(size));
  for (const int64_t d : dims) {
    if (self.dim() == 0) continue;
    const int64_t size = self.size(d);
    stretches[static_cast<size_t>(d)] = {{0, size - 1, size, -1}};
  }
  return ReturnMoved(b, call, self, stretches, self.sizes(), LikeStrides(self));
}

bool Flip(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return FlipDims(b, call, call.Ints(1));
}

template <int kDim>
bool FlipDim(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (call.tensor(0).dim() <= kDim) return call.Fail("too few dimensions");
  return FlipDims(b, call, {kDim});
}

bool Rot90(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  Sizes dims = call.Ints(2);
  if (self.dim() < 2 || dims.size() != 2) {
    return call.Fail("rot90 turns two dimensions");
  }
  if (!WrapDims(call, self.dim(), &dims)) return false;
  const int64_t turns = ((call.Int(1) % 4) + 4) % 4;
  if (turns == 0) {
    const Tensor out = b.NewTensor(self.dtype(), self.sizes());
    if (!out.defined() || !b.EmitCopy(self, out)) {
      return call.Fail("cannot copy " + self.ToString());
    }
    call.Return(out);
    return true;
  }
  Sizes flipped = dims;
  if (turns == 1) flipped = {dims[1]};
  if (turns == 3) flipped = {dims[0]};
  if (!FlipDims(b, call, flipped)) return false;
  if (turns != 2) {
    RuntimeValue& out = call.results()[0];
    out = Transposed(out.tensor(), dims[0], dims[1]);
  }
  return true;
}

// --- roll ---

bool Roll(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor self = call.tensor(0);
  const Sizes sizes = self.sizes(), shifts = call.Ints(1);
  Sizes dims = call.Ints(2);
  if (shifts.empty()) return call.Fail("roll: no shifts given");
  const bool is_flat = dims.empty() && shifts.size() == 1;
  if (is_flat) {
    self = b.Contiguous(self);
    if (!self.defined()) return call.Fail("cannot copy the input");
    self = self.View({self.numel()}, {1}, self.offset());
    dims = {0};
  }
  if (shifts.size() != dims.size()) {
    return call.Fail("roll: " + std::to_string(shifts.size()) + " shifts for " +
                     std::to_string(dims.size()) + " dims");
  }
  if (self.dim() == 0) return call.Fail("roll: no dimensions");
  // Shifts of one dimension add up.
  Sizes shift(self.sizes().size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!WrapDim(call, self.dim(), &dims[i])) return false;
    const int64_t size = self.size(dims[i]);
    if (size > 0) shift[dims[i]] = (shift[dims[i]] + shifts[i] % size) % size;
  }
  Stretches stretches;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const int64_t size = self.size(d);
    const int64_t s = size == 0 ? 0 : (shift[d] + size) % size;
    stretches.push_back({{0, size - s, s, 1}, {s, 0, size - s, 1}});
  }
  // Joined from parts, as PyTorch does it.
  const Sizes strides = StridesFor(self.sizes(), SuggestedFormat(self));
  if (!ReturnMoved(b, call, self, stretches, self.sizes(), strides)) {
    return false;
  }
  if (is_flat) {
    RuntimeValue& out = call.results()[0];
    out = out.tensor().View(sizes, ContiguousStrides(sizes), 0);
  }
  return true;
}

// --- triangles and diagonals ---

// Keeps the elements on one side of a diagonal: the mask is known.
template <bool kLower>
bool Triangle(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  if (self.dim() < 2) return call.Fail("expected at least 2 dimensions");
  const int64_t rows = self.size(self.dim() - 2);
  const int64_t columns = self.size(self.dim() - 1);
  const int64_t diagonal = std::clamp(call.Int(1), -rows - 1, columns + 1);
  Tensor mask = Tensor::Empty(DType::kBool, {rows, columns});
  const Tensor out = b.NewTensor(self.dtype(), self.sizes());
  if (!mask.defined() || !out.defined()) {
    return call.Fail("the result is too large");
  }
  auto* is_kept = mask.mutable_data<uint8_t>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      *is_kept++ = kLower ? c - r <= diagonal : c - r >= diagonal;
    }
  }
  PointwiseBuilder e(&b, out);
  const TileValue zero = e.Load(ConstantOf(int64_t{0}, self.dtype()));
  call.Return(out);
  return e.Emit(e.Apply(TileOp::kWhere, {e.Load(mask), e.Load(self), zero})) ||
         call.Fail("cannot choose the elements");
}

// The last dimension becomes a diagonal of a matrix of zeros.
bool EmbedDiagonal(PlanBuilder& b, KernelCall& call, const Tensor& self,
                   int64_t offset, int64_t dim1, int64_t dim2) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  const int64_t rank = self.dim() + 1;
  if (self.dim() == 0) return call.Fail("a 0-d operand");
  if (!WrapDim(call, rank, &dim1) || !WrapDim(call, rank, &dim2)) return false;
  if (dim1 == dim2) return call.Fail("the diagonal's dimensions are one");
  if (std::abs(offset) > kLimit) return call.Fail("offset too large");
  const int64_t size = self.size(self.dim() - 1) + std::abs(offset);
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 1);
  sizes.insert(sizes.begin() + std::min(dim1, dim2), size);
  sizes.insert(sizes.begin() + std::max(dim1, dim2), size);
  if (!CheckSizes(call, sizes)) return false;
  const Tensor out = b.NewTensor(self.dtype(), sizes);
  if (!out.defined()) return call.Fail("the result is too large");
  PointwiseBuilder e(&b, out);
  KernelCall diagonal(*FindCallSchema("aten.diagonal.default"),
                      {out, offset, dim1, dim2});
  if (!e.Emit(e.Apply(TileOp::kCopy,
                      {e.Load(ConstantOf(int64_t{0}, self.dtype()))})) ||
      !FindKernel("aten.diagonal.default")(diagonal) ||
      !b.EmitCopy(self, diagonal.results()[0].tensor())) {
    return call.Fail("cannot fill the result");
  }
  call.Return(out);
  return true;
}

bool DiagEmbed(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return EmbedDiagonal(b, call, call.tensor(0), call.Int(1), call.Int(2),
                       call.Int(3));
}

// --- shuffles ---

// `self` seen in the sizes `apart`, with those permuted and joined again.
bool Shuffle(PlanBuilder& b, KernelCall& call, const Sizes& apart,
             const Sizes& order, const Sizes& sizes) {
  const Tensor& self = call.tensor(0);
  if (!CheckSizes(call, apart) || !CheckSizes(call, sizes)) return false;
  PlanChain chain(b, call);
  const Tensor parts = chain.Reshape(self, apart);
  if (!chain.ok()) return false;
  const Tensor shuffled = b.Contiguous(Permuted(parts, order));
  if (!shuffled.defined()) return call.Fail("the result is too large");
  Tensor out =
      shuffled.View(sizes, ContiguousStrides(sizes), shuffled.offset());
  // Never the operand itself.
  if (out.SharesStorage(self)) {
    const Tensor copy = b.NewTensor(self.dtype(), sizes);
    if (!copy.defined() || !b.EmitCopy(out, copy)) {
      return call.Fail("cannot copy " + self.ToString());
    }
    out = copy;
  }
  out = InFormat(b, out, SuggestedFormat(self));
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  return true;
}

// The sizes before the last three, and after them `last`.
Sizes WithLast(const Tensor& self, std::initializer_list<int64_t> last) {
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 3);
  sizes.insert(sizes.end(), last);
  return sizes;
}

Sizes OrderWithLast(const Tensor& self, std::initializer_list<int64_t> last) {
  Sizes order;
  for (int64_t d = 0; d < self.dim() - 3; ++d) order.push_back(d);
  for (const int64_t d : last) order.push_back(self.dim() - 3 + d);
  return order;
}

template <bool kUp>
bool PixelShuffle(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  const int64_t r = call.Int(1);
  if (self.dim() < 3 || r <= 0 || r > (1 << 20)) {
    return call.Fail("cannot shuffle " + self.ToString() + " by " +
                     std::to_string(r));
  }
  const int64_t c = self.size(self.dim() - 3), h = self.size(self.dim() - 2);
  const int64_t w = self.size(self.dim() - 1);
  if (kUp ? c % (r * r) != 0 : h % r != 0 || w % r != 0) {
    return call.Fail(self.ToString() + " isn't divisible by " +
                     std::to_string(r));
  }
  if (kUp) {
    return Shuffle(b, call, WithLast(self, {c / (r * r), r, r, h, w}),
                   OrderWithLast(self, {0, 3, 1, 4, 2}),
                   WithLast(self, {c / (r * r), h * r, w * r}));
  }
  return Shuffle(b, call, WithLast(self, {c, h / r, r, w / r, r}),
                 OrderWithLast(self, {0, 2, 4, 1, 3}),
                 WithLast(self, {c * r * r, h / r, w / r}));
}

bool ChannelShuffle(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  const int64_t groups = call.Int(1);
  if (self.dim() < 3 || groups <= 0 || self.size(1) % groups != 0) {
    return call.Fail("channels aren't divisible by the groups");
  }
  Sizes apart = self.sizes(), order;
  apart[1] /= groups;
  apart.insert(apart.begin() + 1, groups);
  for (size_t d = 0; d < apart.size(); ++d) {
    order.push_back(static_cast<int64_t>(d));
  }
  std::swap(order[1], order[2]);
  return Shuffle(b, call, apart, order, self.sizes());
}

// Fewer repeats than dimensions count for the last ones.
bool Tile(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Sizes repeats = call.Ints(1);
  const auto rank = static_cast<size_t>(call.tensor(0).dim());
  if (repeats.size() < rank) {
    repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  }
  PlanChain chain(b, call);
  return chain.Return(
      {chain("aten.repeat.default", {call.arg(0), IntList(repeats)})});
}

constexpr Lowering Op(std::string_view name, LowerFn lower) {
  return {name, LoweringKind::kPure, lower};
}

constexpr Lowering kLowerings[] = {
    Op("aten.flip.default", Flip),
    Op("aten.flipud.default", FlipDim<0>),
    Op("aten.fliplr.default", FlipDim<1>),
    Op("aten.rot90.default", Rot90),
    Op("aten.roll.default", Roll),
    Op("aten.tril.default", Triangle<true>),
    Op("aten.triu.default", Triangle<false>),
    Op("aten.diag_embed.default", DiagEmbed),
    Op("aten.pixel_shuffle.default", PixelShuffle<true>),
    Op("aten.pixel_unshuffle.default", PixelShuffle<false>),
    Op("aten.channel_shuffle.default", ChannelShuffle),
    Op("aten.tile.default", Tile),
};

}  // namespace

std::span<const Lowering> RearrangeLowerings() { return kLowerings; }

}  // namespace tenon::cpu
