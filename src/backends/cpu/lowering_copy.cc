// Operators that only move elements: copies, casts, reshapes, joins, fills.
// All of them are elementwise steps between views.
#include <algorithm>

#include "backends/cpu/constants.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/narrow_types.h"
#include "backends/cpu/pointwise_builder.h"
#include "kernels/broadcast.h"
#include "kernels/promotion.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

bool ReturnCopy(PlanBuilder& b, KernelCall& call, const Tensor& from,
                DType dtype, Sizes strides) {
  const Tensor out = b.NewTensor(dtype, from.sizes(), std::move(strides));
  if (!out.defined() || !b.EmitCopy(from, out)) {
    return call.Fail("cannot copy " + from.ToString());
  }
  if (IsNarrow(from.dtype())) b.SetStored(out, {from, {}, {}});
  call.Return(out);
  return true;
}

MemoryFormat FormatOf(const RuntimeValue& format) {
  return format.is_memory_format() ? format.memory_format()
                                   : MemoryFormat::kPreserve;
}

bool FormatFits(KernelCall& call, const Tensor& self, MemoryFormat format) {
  if ((format == MemoryFormat::kChannelsLast && self.dim() != 4) ||
      (format == MemoryFormat::kChannelsLast3d && self.dim() != 5)) {
    return call.Fail(std::string(Name(format)) + " doesn't fit " +
                     self.ToString());
  }
  return true;
}

bool Clone(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  const MemoryFormat format =
      call.num_args() > 1 ? FormatOf(call.arg(1)) : MemoryFormat::kPreserve;
  if (!FormatFits(call, self, format)) return false;
  Sizes strides = self.strides();
  if (format != MemoryFormat::kPreserve) {
    strides = StridesFor(self.sizes(), format);
  } else if (!self.is_dense()) {
    strides = StridesFor(self.sizes(), SuggestedFormat(self));
  }
  return ReturnCopy(b, call, self, self.dtype(), strides);
}

bool Contiguous(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  MemoryFormat format = FormatOf(call.arg(1));
  if (format == MemoryFormat::kPreserve) format = MemoryFormat::kContiguous;
  if (!FormatFits(call, self, format)) return false;
  if (IsContiguousIn(self, format)) {
    call.Return(self);
    return true;
  }
  return ReturnCopy(b, call, self, self.dtype(),
                    StridesFor(self.sizes(), format));
}

// --- casts ---

struct CastTo {
  DType dtype;
  MemoryFormat format;
  bool copy;
};

bool Convert(PlanBuilder& b, KernelCall& call, const CastTo& to) {
  const Tensor& self = call.tensor(0);
  if (!FormatFits(call, self, to.format)) return false;
  const bool format_fits = to.format == MemoryFormat::kPreserve ||
                           SuggestedFormat(self) == to.format;
  if (!to.copy && to.dtype == self.dtype() && format_fits) {
    call.Return(self);
    return true;
  }
  return ReturnCopy(b, call, self, to.dtype,
                    to.format == MemoryFormat::kPreserve
                        ? LikeStrides(self)
                        : StridesFor(self.sizes(), to.format));
}

DType DTypeOr(const RuntimeValue& dtype, DType otherwise) {
  return dtype.is_dtype() ? dtype.dtype() : otherwise;
}

bool ToCopy(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Convert(b, call,
                 {DTypeOr(call.arg(1), call.tensor(0).dtype()),
                  FormatOf(call.arg(6)), true});
}
bool ToDType(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Convert(b, call,
                 {DTypeOr(call.arg(1), call.tensor(0).dtype()),
                  FormatOf(call.arg(4)), call.Bool(3)});
}
bool ToDTypeLayout(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Convert(b, call,
                 {DTypeOr(call.arg(1), call.tensor(0).dtype()),
                  FormatOf(call.arg(7)), call.Bool(6)});
}
bool ToDevice(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Convert(b, call,
                 {DTypeOr(call.arg(2), call.tensor(0).dtype()),
                  FormatOf(call.arg(5)), call.Bool(4)});
}
bool TypeAs(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Convert(b, call,
                 {call.tensor(1).dtype(), MemoryFormat::kPreserve, false});
}

// --- reshapes ---

bool ReturnReshaped(PlanBuilder& b, KernelCall& call, Sizes sizes) {
  const Tensor& self = call.tensor(0);
  if (!InferSizes(call, self.numel(), &sizes)) return false;
  if (const auto strides = ViewStrides(self.sizes(), self.strides(), sizes)) {
    call.Return(self.View(sizes, *strides, self.offset()));
    return true;
  }
  Tensor whole = b.NewTensor(self.dtype(), self.sizes());
  if (!whole.defined() || !b.EmitCopy(self, whole)) {
    return call.Fail("cannot copy " + self.ToString());
  }
  call.Return(whole.View(sizes, ContiguousStrides(sizes), 0));
  return true;
}

bool Reshape(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ReturnReshaped(b, call, call.Ints(1));
}

bool ReshapeAs(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ReturnReshaped(b, call, call.tensor(1).sizes());
}

bool Ravel(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor flat = b.Contiguous(call.tensor(0));
  if (!flat.defined()) return call.Fail("cannot copy the input");
  call.Return(flat.View({flat.numel()}, {1}, flat.offset()));
  return true;
}

// Never a view, and of any strides.
bool ViewCopy(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (!ReturnReshaped(b, call, call.Ints(1))) return false;
  const Tensor view = call.results()[0].tensor();
  call.results().clear();
  return ReturnCopy(b, call, view, view.dtype(),
                    ContiguousStrides(view.sizes()));
}

bool Flatten(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  int64_t start = call.Int(1), end = call.Int(2);
  if (!WrapDim(call, self.dim(), &start) || !WrapDim(call, self.dim(), &end)) {
    return false;
  }
  if (start > end) return call.Fail("start_dim cannot come after end_dim");
  if (self.dim() == 0) return ReturnReshaped(b, call, {1});
  if (start == end) {
    call.Return(self);
    return true;
  }
  Sizes sizes(self.sizes().begin(), self.sizes().begin() + start);
  int64_t merged = 1;
  for (int64_t d = start; d <= end; ++d) merged *= self.size(d);
  sizes.push_back(merged);
  sizes.insert(sizes.end(), self.sizes().begin() + end + 1, self.sizes().end());
  return ReturnReshaped(b, call, std::move(sizes));
}

// --- joins ---

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

// --- fills ---

// Every element one scalar; merges into whoever reads it.
bool EmitFill(PlanBuilder& b, const Tensor& out, const RuntimeValue& scalar) {
  PointwiseBuilder e(&b, out);
  return e.Emit(
      e.Apply(TileOp::kCopy, {e.Load(ConstantOf(scalar, out.dtype()))}));
}

bool ReturnFilled(PlanBuilder& b, KernelCall& call, DType dtype,
                  const Sizes& sizes, Sizes strides,
                  const RuntimeValue& scalar) {
  if (!CheckSizes(call, sizes)) return false;
  const Tensor out = b.NewTensor(dtype, sizes, std::move(strides));
  if (!out.defined() || !EmitFill(b, out, scalar)) {
    return call.Fail("cannot fill the result");
  }
  call.Return(out);
  return true;
}

bool FillLike(PlanBuilder& b, KernelCall& call, const RuntimeValue& scalar,
              size_t options) {
  const Tensor& self = call.tensor(0);
  const MemoryFormat format = FormatOf(call.arg(options + 4));
  if (!FormatFits(call, self, format)) return false;
  return ReturnFilled(
      b, call, DTypeOr(call.arg(options), self.dtype()), self.sizes(),
      format == MemoryFormat::kPreserve ? LikeStrides(self)
                                        : StridesFor(self.sizes(), format),
      scalar);
}

bool FullLike(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return FillLike(b, call, call.Scalar(1), 2);
}
template <int kValue>
bool ConstantLike(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return FillLike(b, call, int64_t{kValue}, 1);
}

bool NewFull(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Sizes sizes = call.Ints(1);
  return ReturnFilled(b, call, DTypeOr(call.arg(3), call.tensor(0).dtype()),
                      sizes, ContiguousStrides(sizes), call.Scalar(2));
}
template <int kValue>
bool NewConstant(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Sizes sizes = call.Ints(1);
  return ReturnFilled(b, call, DTypeOr(call.arg(2), call.tensor(0).dtype()),
                      sizes, ContiguousStrides(sizes), int64_t{kValue});
}

// Factories have no tensor operands, so the reference kernel runs.
bool NeverReached(PlanBuilder&, KernelCall& call, const Lowering&) {
  return call.Fail("no reference kernel");
}

// --- a copy with one view overwritten ---

// The tensor whose view is overwritten: a copy of `self`, or, where nobody
// reads that any more, `self`.
bool CloneLike(PlanBuilder& b, KernelCall& call, const Tensor& self,
               Tensor* out) {
  Sizes strides = self.strides();
  bool has_overlap = false;
  for (int64_t d = 0; d < self.dim(); ++d) {
    has_overlap = has_overlap || (self.stride(d) == 0 && self.size(d) > 1);
  }
  if (has_overlap) strides = ContiguousStrides(self.sizes());
  if (!has_overlap && b.updates_in_place()) {
    *out = b.Writable(self);
    return true;
  }
  *out = b.NewTensor(self.dtype(), self.sizes(), strides);
  if (out->defined() && b.EmitCopy(self, *out)) return true;
  return call.Fail("cannot copy " + self.ToString());
}

bool SliceScatter(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor self = call.tensor(0), source = call.tensor(1);
  Tensor out;
  if (!CloneLike(b, call, self, &out)) return false;
  KernelCall slice(*FindCallSchema("aten.slice.Tensor"),
                   {out, call.arg(2), call.arg(3), call.arg(4), call.arg(5)});
  if (!FindKernel("aten.slice.Tensor")(slice)) {
    return call.Fail(slice.error());
  }
  const Tensor view = slice.results()[0].tensor();
  if (view.sizes() != source.sizes() || !b.EmitUpdate(source, view)) {
    return call.Fail("expected a source of sizes " + ToText(view.sizes()) +
                     ", found " + ToText(source.sizes()));
  }
  call.Return(out);
  return true;
}

bool SelectScatter(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor self = call.tensor(0), source = call.tensor(1);
  Tensor out;
  if (!CloneLike(b, call, self, &out)) return false;
  KernelCall select(*FindCallSchema("aten.select.int"),
                    {out, call.arg(2), call.arg(3)});
  if (!FindKernel("aten.select.int")(select)) {
    return call.Fail(select.error());
  }
  const Tensor view = select.results()[0].tensor();
  if (view.sizes() != source.sizes() || !b.EmitUpdate(source, view)) {
    return call.Fail("expected a source of sizes " + ToText(view.sizes()) +
                     ", found " + ToText(source.sizes()));
  }
  call.Return(out);
  return true;
}

bool CopyFunctional(PlanBuilder& b, KernelCall& call, const Lowering&) {
  const Tensor self = call.tensor(0);
  Tensor source = call.tensor(1);
  while (source.dim() > self.dim() && source.size(0) == 1) {
    source = Squeezed(source, 0);
  }
  Tensor out;
  if (!BroadcastsTo(source.sizes(), self.sizes())) {
    return call.Fail("sizes " + ToText(source.sizes()) +
                     " don't broadcast to " + ToText(self.sizes()));
  }
  if (!CloneLike(b, call, self, &out)) return false;
  if (!b.EmitUpdate(source, out)) return call.Fail("cannot copy the source");
  call.Return(out);
  return true;
}

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
  constexpr int64_t kLimit = int64_t{1} << 40;
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

// Checks what is known while planning, so nothing is left to run.
bool AssertMetadata(PlanBuilder&, KernelCall& call, const Lowering&) {
  const Tensor& self = call.tensor(0);
  if (!call.is_none(1) && call.Ints(1) != self.sizes()) {
    return call.Fail("expected sizes " + ToText(call.Ints(1)) + ", found " +
                     ToText(self.sizes()));
  }
  if (!call.is_none(2) && call.Ints(2) != self.strides()) {
    return call.Fail("expected strides " + ToText(call.Ints(2)) + ", found " +
                     ToText(self.strides()));
  }
  if (!call.is_none(3) && call.arg(3).dtype() != self.dtype()) {
    return call.Fail("expected dtype " +
                     std::string(Name(call.arg(3).dtype())) + ", found " +
                     std::string(Name(self.dtype())));
  }
  return true;
}

// Dropout outside training gives its input itself, as in-place dropout does:
// never the copy that a constant would become.
bool Dropout(PlanBuilder&, KernelCall& call, const Lowering&) {
  if (call.Bool(2) && call.Float(1) != 0) return call.Fail("it is random");
  call.Return(call.tensor(0));
  return true;
}

std::optional<Refusal> RefuseTraining(const Program& program, NodeId node) {
  const Arg* train = program.FindArg(node, "train");
  if (train != nullptr && train->kind == ArgKind::kBool && train->i == 0) {
    return std::nullopt;
  }
  return Refusal{RefusalReason::kEffect, "dropout in training is random"};
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr Lowering Factory(std::string_view name) {
  return {name, kPure, NeverReached};
}

constexpr Lowering kLowerings[] = {
    {"aten.clone.default", kPure, Clone},
    {"aten.contiguous.default", kPure, Contiguous},
    {"aten._to_copy.default", kPure, ToCopy},
    {"aten.to.dtype", kPure, ToDType},
    {"aten.to.dtype_layout", kPure, ToDTypeLayout},
    {"aten.to.device", kPure, ToDevice},
    {"aten.type_as.default", kPure, TypeAs},
    {"aten.reshape.default", kPure, Reshape},
    {"aten.flatten.using_ints", kPure, Flatten},
    {"aten.reshape_as.default", kPure, ReshapeAs},
    {"aten.ravel.default", kPure, Ravel},
    {"aten.view_copy.default", kPure, ViewCopy},
    {"aten.cat.default", kPure, Cat},
    {"aten.concat.default", kPure, Cat},
    {"aten.concatenate.default", kPure, Cat},
    {"aten.stack.default", kPure, Stack},
    {"aten.diff.default", kPure, Diff, DTypeRule::kHeld, TileOp::kCopy,
     RefuseHigherDiff},
    {"aten.repeat.default", kPure, Repeat},
    {"aten.repeat_interleave.self_int", kPure, RepeatInterleave},
    {"aten.slice_scatter.default", kPure, SliceScatter},
    {"aten.select_scatter.default", kPure, SelectScatter},
    {"aten.copy.default", kPure, CopyFunctional},
    {"aten.constant_pad_nd.default", kPure, PadConstant},
    {"aten.full_like.default", kPure, FullLike},
    {"aten.zeros_like.default", kPure, ConstantLike<0>},
    {"aten.ones_like.default", kPure, ConstantLike<1>},
    {"aten.new_full.default", kPure, NewFull},
    {"aten.new_zeros.default", kPure, NewConstant<0>},
    {"aten.new_ones.default", kPure, NewConstant<1>},
    {"aten._assert_tensor_metadata.default", kPure, AssertMetadata},
    {"aten.dropout.default", LoweringKind::kInPlace, Dropout, DTypeRule::kHeld,
     TileOp::kCopy, RefuseTraining},
    {"aten.dropout_.default", LoweringKind::kInPlace, Dropout, DTypeRule::kHeld,
     TileOp::kCopy, RefuseTraining},
    Factory("aten.arange.default"),
    Factory("aten.arange.start"),
    Factory("aten.arange.start_step"),
    Factory("aten.full.default"),
    Factory("aten.zeros.default"),
    Factory("aten.ones.default"),
    Factory("aten.eye.default"),
    Factory("aten.eye.m"),
    Factory("aten.linspace.default"),
    Factory("aten.scalar_tensor.default"),
};

}  // namespace

std::span<const Lowering> CopyLowerings() { return kLowerings; }

}  // namespace tenon::cpu
