// Padding with a number, or from the operand itself.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_results.h"
#include "backends/cpu/lowering_stretches.h"
#include "backends/cpu/plan_chain.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// Pad values beyond are refused, so that sums of sizes don't overflow.
constexpr int64_t kLimit = int64_t{1} << 40;

// Cuts where a pad value is negative, then fills around what is left.
bool PadConstant(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  const Sizes pad = call.Ints(1);
  if (pad.size() % 2 != 0 ||
      static_cast<int64_t>(pad.size()) > 2 * self.dim()) {
    return call.Fail("expected two pad values for each of some dimensions");
  }
  Tensor source = self;
  Sizes sizes = self.sizes();
  bool only_crops = true;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    if (std::max(std::abs(before), std::abs(after)) > kLimit) {
      return call.Fail("a pad value is too large");
    }
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i);
    const int64_t cut = std::max<int64_t>(-before, 0);
    const int64_t kept = source.size(dim) - cut - std::max<int64_t>(-after, 0);
    sizes[dim] += before + after;
    if (kept < 0 || sizes[dim] < 0) {
      return call.Fail("a dimension becomes negative");
    }
    only_crops = only_crops && before <= 0 && after <= 0;
    source = Narrowed(source, dim, cut, kept);
  }
  if (only_crops) {
    return ReturnCopy(b, call, source, source.dtype(),
                      source.is_dense()
                          ? source.strides()
                          : StridesFor(sizes, SuggestedFormat(source)));
  }
  if (!ReturnFilled(b, call, self.dtype(), sizes,
                    StridesFor(sizes, SuggestedFormat(self)), call.Scalar(2))) {
    return false;
  }
  Tensor inner = call.results()[0].tensor();
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t dim = self.dim() - 1 - static_cast<int64_t>(i);
    inner = Narrowed(inner, dim, std::max<int64_t>(pad[2 * i], 0),
                     source.size(dim));
  }
  return b.EmitCopy(source, inner) || call.Fail("cannot copy the input");
}

enum class Border { kReflect, kReplicate, kCircular };

// `before` and `after` may be negative. Positions count from the operand's
// first element: those of the result are [low, high).
std::vector<Stretch> PadStretches(Border border, int64_t size, int64_t before,
                                  int64_t after) {
  const int64_t low = -before, high = size + after;
  const int64_t first = std::max<int64_t>(low, 0);     // of the middle
  const int64_t last = std::min<int64_t>(high, size);  // after the middle
  const int64_t back = std::max(low, size);
  const auto stretch = [&](int64_t begin, int64_t end, int64_t from,
                           int64_t step) {
    return Stretch{begin - low, from, std::max<int64_t>(end - begin, 0), step};
  };
  const int64_t front_end = std::min<int64_t>(high, 0);
  const Stretch middle = stretch(first, last, first, 1);
  switch (border) {
    case Border::kReflect:
      return {stretch(low, front_end, -low, -1), middle,
              stretch(back, high, 2 * (size - 1) - back, -1)};
    case Border::kReplicate:
      return {stretch(low, front_end, 0, 0), middle,
              stretch(back, high, size - 1, 0)};
    case Border::kCircular:
      return {stretch(low, front_end, low + size, 1), middle,
              stretch(back, high, back - size, 1)};
  }
  return {};
}

// What padding the last `spatial` dimensions needs; `pad` lists the last one
// first.
bool CheckPad(KernelCall& call, Border border, int64_t spatial,
              const Sizes& pad) {
  const Tensor& self = call.tensor(0);
  if (static_cast<int64_t>(pad.size()) != 2 * spatial ||
      (self.dim() != spatial + 1 && self.dim() != spatial + 2)) {
    return call.Fail("pad: " + std::to_string(pad.size()) +
                     " pad values don't fit " + self.ToString());
  }
  for (int64_t d = self.dim() == spatial + 2 ? 1 : 0; d < self.dim(); ++d) {
    if (self.size(d) == 0) return call.Fail("pad: an empty dimension");
  }
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t size = self.size(self.dim() - 1 - i);
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t most = std::max(before, after);
    if (std::max(std::abs(before), std::abs(after)) > kLimit) {
      return call.Fail("pad: a pad value is too large");
    }
    if ((border == Border::kReflect && most >= size) ||
        (border == Border::kCircular && most > size)) {
      return call.Fail("pad: more than the dimension of size " +
                       std::to_string(size) + " has");
    }
    if (size + before + after < 1) {
      return call.Fail("pad: a dimension would have no elements");
    }
  }
  return true;
}

bool PadBorder(PlanBuilder& b, KernelCall& call, Border border, int64_t spatial,
               const Sizes& pad) {
  const Tensor& self = call.tensor(0);
  if (!CheckPad(call, border, spatial, pad)) return false;
  Stretches stretches;
  Sizes sizes = self.sizes();
  for (const int64_t size : sizes) stretches.push_back(Whole(size));
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t d = self.dim() - 1 - i;
    stretches[static_cast<size_t>(d)] =
        PadStretches(border, self.size(d), pad[2 * i], pad[2 * i + 1]);
    sizes[d] += pad[2 * i] + pad[2 * i + 1];
  }
  const Sizes strides = StridesFor(sizes, SuggestedFormat(self));
  return ReturnMoved(b, call, self, stretches, sizes, strides);
}

template <Border kBorder, int kSpatial>
bool PadBorderNd(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return PadBorder(b, call, kBorder, kSpatial, call.Ints(1));
}

// aten.pad: the mode by its name.
bool Pad(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const std::string& mode = call.arg(2).string();
  if (mode == "constant") {
    PlanChain chain(b, call);
    return chain.Return(
        {chain("aten.constant_pad_nd.default",
               {call.arg(0), call.arg(1),
                call.is_none(3) ? RuntimeValue(0.0) : call.arg(3)})});
  }
  if (!call.is_none(3) && call.Float(3) != 0) {
    return call.Fail("pad: mode '" + mode + "' takes no value");
  }
  const Sizes pad = call.Ints(1);
  const auto spatial = static_cast<int64_t>(pad.size() / 2);
  if (spatial < 1 || spatial > 3) {
    return call.Fail("pad: mode '" + mode + "' pads 1 to 3 dimensions");
  }
  if (mode == "reflect") {
    return PadBorder(b, call, Border::kReflect, spatial, pad);
  }
  if (mode == "replicate") {
    return PadBorder(b, call, Border::kReplicate, spatial, pad);
  }
  if (mode == "circular") {
    return PadBorder(b, call, Border::kCircular, spatial, pad);
  }
  return call.Fail("pad: unknown mode '" + mode + "'");
}

constexpr Lowering Op(std::string_view name, LowerFn lower) {
  return {name, LoweringKind::kPure, lower};
}

constexpr Lowering kLowerings[] = {
    Op("aten.constant_pad_nd.default", PadConstant),
    Op("aten.pad.default", Pad),
    Op("aten.reflection_pad1d.default", PadBorderNd<Border::kReflect, 1>),
    Op("aten.reflection_pad2d.default", PadBorderNd<Border::kReflect, 2>),
    Op("aten.reflection_pad3d.default", PadBorderNd<Border::kReflect, 3>),
    Op("aten.replication_pad1d.default", PadBorderNd<Border::kReplicate, 1>),
    Op("aten.replication_pad2d.default", PadBorderNd<Border::kReplicate, 2>),
    Op("aten.replication_pad3d.default", PadBorderNd<Border::kReplicate, 3>),
};

}  // namespace

std::span<const Lowering> PadLowerings() { return kLowerings; }

}  // namespace tenon::cpu
