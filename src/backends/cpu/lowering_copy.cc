// Copies, casts and reshapes: elementwise steps between views, or nothing.
#include <algorithm>
#include <string>

#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_results.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

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

// --- what computes nothing ---

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
    {"aten._assert_tensor_metadata.default", kPure, AssertMetadata},
    {"aten.dropout.default", LoweringKind::kInPlace, Dropout, DTypeRule::kHeld,
     TileOp::kCopy, RefuseTraining},
    {"aten.dropout_.default", LoweringKind::kInPlace, Dropout, DTypeRule::kHeld,
     TileOp::kCopy, RefuseTraining},
};

}  // namespace

std::span<const Lowering> CopyLowerings() { return kLowerings; }

}  // namespace tenon::cpu
