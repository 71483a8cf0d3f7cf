// Operators whose result is several tensors, or one several times, side by
// side: cat, stack, repeat; and diff, which may join before it subtracts.
#include <algorithm>
#include <string>
#include <vector>

#include "backends/cpu/lowering.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/promotion.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

bool IsSkipped(const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }

MemoryFormat CommonFormat(const std::vector<Tensor>& tensors) {
  const MemoryFormat format = SuggestedFormat(tensors[0]);
  const bool same = std::all_of(
      tensors.begin(), tensors.end(),
      [&](const Tensor& t) { return SuggestedFormat(t) == format; });
  return same ? format : MemoryFormat::kContiguous;
}

// Whether it is better to join the tensors with their channels last.
bool AreChannelsLast(const PlanBuilder& b, const std::vector<Tensor>& tensors,
                     const Tensor& out) {
  if (out.dtype() != DType::kFloat32 || out.dim() < 3 || out.dim() > 4) {
    return false;
  }
  bool found = false;
  for (const Tensor& t : tensors) {
    if (IsSkipped(t)) continue;
    const Tensor last = b.FindChannelsLast(t);
    if (t.dtype() != DType::kFloat32 || !last.defined()) return false;
    // Some are so in either order.
    found = found || !last.is_contiguous();
  }
  return found;
}

bool CatTensors(PlanBuilder& b, KernelCall& call,
                const std::vector<Tensor>& tensors, int64_t dim) {
  if (tensors.empty()) return call.Fail("expected tensors, found none");
  const Tensor* first = &tensors[0];
  for (const Tensor& t : tensors) {
    if (!t.defined() || t.dim() == 0) {
      return call.Fail("0-d tensors cannot be joined");
    }
    if (IsSkipped(*first) && !IsSkipped(t)) first = &t;
  }
  if (!WrapDim(call, first->dim(), &dim)) return false;
  Sizes sizes = first->sizes();
  sizes[dim] = 0;
  std::vector<Operand> operands;
  for (const Tensor& t : tensors) {
    operands.push_back({t, false});
    if (IsSkipped(t)) continue;
    Sizes expected = sizes;
    if (t.dim() == first->dim()) expected[dim] = t.size(dim);
    if (t.sizes() != expected) {
      return call.Fail("sizes " + ToText(t.sizes()) + " don't match " +
                       ToText(first->sizes()) + " except in dimension " +
                       std::to_string(dim));
    }
    sizes[dim] += t.size(dim);
  }
  const Tensor out = b.NewTensor(ResultType(operands), sizes,
                                 StridesFor(sizes, CommonFormat(tensors)));
  if (!out.defined()) return call.Fail("the result is too large");
  const bool are_last = AreChannelsLast(b, tensors, out);
  const Tensor joined = are_last ? b.NewChannelsLast(out) : out;
  if (!joined.defined()) return call.Fail("the result is too large");
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    if (IsSkipped(t)) continue;
    const Tensor part = are_last ? b.FindChannelsLast(t) : t;
    if (!b.EmitCopy(part, Narrowed(joined, dim, start, t.size(dim)))) {
      return call.Fail("cannot copy " + t.ToString());
    }
    start += t.size(dim);
  }
  b.SetChannelsLast(out, joined);
  call.Return(out);
  return true;
}

bool Cat(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return CatTensors(b, call, call.Tensors(0), call.Int(1));
}

// Joined along the dimension and then split, as PyTorch does it.
bool Stack(PlanBuilder& b, KernelCall& call, const Lowering&) {
  std::vector<Tensor> tensors = call.Tensors(0);
  int64_t dim = call.Int(1);
  if (tensors.empty()) return call.Fail("expected tensors, found none");
  if (!WrapDim(call, tensors[0].dim() + 1, &dim)) return false;
  for (const Tensor& t : tensors) {
    if (t.sizes() != tensors[0].sizes()) {
      return call.Fail("sizes " + ToText(t.sizes()) + " and " +
                       ToText(tensors[0].sizes()) + " differ");
    }
  }
  if (dim == tensors[0].dim()) {
    for (Tensor& t : tensors) t = Unsqueezed(t, dim);
    return CatTensors(b, call, tensors, dim);
  }
  Sizes sizes = tensors[0].sizes();
  sizes.insert(sizes.begin() + dim, static_cast<int64_t>(tensors.size()));
  if (!CatTensors(b, call, tensors, dim)) return false;
  const Tensor joined = call.results()[0].tensor();
  const auto strides = ViewStrides(joined.sizes(), joined.strides(), sizes);
  if (!strides) return call.Fail("no view of the joined tensor");
  call.results()[0] = joined.View(sizes, *strides, joined.offset());
  return true;
}

// Each element minus the one before; bools are compared.
bool Diff(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (call.Int(1) != 1) return call.Fail("n other than 1");
  int64_t dim = call.Int(2);
  Tensor self = call.tensor(0);
  if (self.dim() == 0) return call.Fail("a 0-d operand");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  std::vector<Tensor> parts;
  for (const size_t i : {3u, 0u, 4u}) {
    if (!call.is_none(i)) parts.push_back(call.tensor(i));
  }
  if (parts.size() > 1) {
    if (!CatTensors(b, call, parts, dim)) return false;
    self = call.results()[0].tensor();
    call.results().clear();
  }
  const int64_t length = std::max<int64_t>(self.size(dim) - 1, 0);
  const Tensor after = Narrowed(self, dim, self.size(dim) - length, length);
  const Tensor before = Narrowed(self, dim, 0, length);
  const Tensor operands[] = {after, before};
  const Tensor out = b.NewTensor(self.dtype(), after.sizes(),
                                 ResultStrides(after.sizes(), operands));
  if (!out.defined()) return call.Fail("the result is too large");
  PointwiseBuilder e(&b, out);
  const TileOp op = self.dtype() == DType::kBool ? TileOp::kNe : TileOp::kSub;
  call.Return(out);
  return e.Emit(e.Apply(op, {e.Load(after), e.Load(before)})) ||
         call.Fail("no loop for the operand's dtype");
}

std::optional<Refusal> RefuseHigherDiff(const Program& program, NodeId node) {
  const Arg* n = program.FindArg(node, "n");
  if (n == nullptr || (n->kind == ArgKind::kInt && n->i == 1)) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kAttributeValue, "diff with n other than 1"};
}

bool RepeatInterleave(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor self = call.tensor(0);
  const int64_t repeats = call.Int(1);
  int64_t dim = call.is_none(2) ? 0 : call.Int(2);
  if (call.is_none(2) || self.dim() == 0) {
    self = b.Contiguous(self);
    if (!self.defined()) return call.Fail("cannot copy the input");
    self = self.View({self.numel()}, {1}, self.offset());
  }
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (repeats < 0) return call.Fail("negative repeats");
  Sizes apart = self.sizes(), sizes = self.sizes();
  apart.insert(apart.begin() + dim + 1, repeats);
  if (!CheckSizes(call, apart)) return false;
  sizes[dim] *= repeats;
  if (!call.is_none(3) && call.Int(3) != sizes[dim]) {
    return call.Fail("output_size doesn't match");
  }
  const Tensor out = b.NewTensor(self.dtype(), sizes);
  if (!out.defined() ||
      !b.EmitCopy(ExpandTo(Unsqueezed(self, dim + 1), apart),
                  out.View(apart, ContiguousStrides(apart), 0))) {
    return call.Fail("cannot copy the input");
  }
  call.Return(out);
  return true;
}

bool Repeat(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  const Sizes repeats = call.Ints(1);
  if (static_cast<int64_t>(repeats.size()) < self.dim()) {
    return call.Fail("fewer repeats than dimensions");
  }
  const size_t added = repeats.size() - self.sizes().size();
  // [r0, s0, r1, s1, ...]: each dimension's copies lie before it.
  Sizes apart, sizes, from_sizes;
  for (size_t d = 0; d < repeats.size(); ++d) {
    const int64_t size = d < added ? 1 : self.sizes()[d - added];
    if (repeats[d] < 0) return call.Fail("negative repeats");
    apart.insert(apart.end(), {repeats[d], size});
    from_sizes.insert(from_sizes.end(), {1, size});
    if (!CheckSizes(call, apart)) return false;
    sizes.push_back(size * repeats[d]);
  }
  Sizes from_strides;
  for (size_t d = 0; d < repeats.size(); ++d) {
    from_strides.insert(from_strides.end(),
                        {0, d < added ? 0 : self.strides()[d - added]});
  }
  const Tensor from = self.View(from_sizes, from_strides, self.offset());
  const Tensor out = b.NewTensor(self.dtype(), sizes);
  if (!out.defined() ||
      !b.EmitCopy(from, out.View(apart, ContiguousStrides(apart), 0))) {
    return call.Fail("cannot copy the input");
  }
  call.Return(out);
  return true;
}

constexpr Lowering Op(std::string_view name, LowerFn lower) {
  return {name, LoweringKind::kPure, lower};
}

constexpr Lowering kLowerings[] = {
    Op("aten.cat.default", Cat),
    Op("aten.concat.default", Cat),
    Op("aten.concatenate.default", Cat),
    Op("aten.stack.default", Stack),
    {"aten.diff.default", LoweringKind::kPure, Diff, DTypeRule::kHeld,
     TileOp::kCopy, RefuseHigherDiff},
    Op("aten.repeat.default", Repeat),
    Op("aten.repeat_interleave.self_int", RepeatInterleave),
};

}  // namespace

std::span<const Lowering> JoinLowerings() { return kLowerings; }

}  // namespace tenon::cpu
