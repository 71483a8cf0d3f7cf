// Copies with one view overwritten: slice_scatter, select_scatter, copy.
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_results.h"
#include "kernels/broadcast.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// The tensor whose view is overwritten: a copy of `self`, or, where nobody
// reads that any more, `self`.
bool CloneLike(PlanBuilder& b, KernelCall& call, const Tensor& self,
               Tensor* out) {
  Sizes strides = self.strides();
  const bool has_overlap = HasOverlap(self);
  if (has_overlap) strides = ContiguousStrides(self.sizes());
  if (!has_overlap && b.updates_in_place()) {
    *out = b.Writable(self);
    return true;
  }
  *out = b.NewTensor(self.dtype(), self.sizes(), strides);
  if (out->defined() && b.EmitCopy(self, *out)) return true;
  return call.Fail("cannot copy " + self.ToString());
}

// `geometry` makes a view of the copy, with the arguments after the source.
bool ScatterInto(PlanBuilder& b, KernelCall& call, const char* geometry) {
  const Tensor self = call.tensor(0), source = call.tensor(1);
  Tensor out;
  if (!CloneLike(b, call, self, &out)) return false;
  std::vector<RuntimeValue> args = {out};
  for (size_t i = 2; i < call.num_args(); ++i) args.push_back(call.arg(i));
  KernelCall inner(*FindCallSchema(geometry), std::move(args));
  if (!FindKernel(geometry)(inner)) return call.Fail(inner.error());
  const Tensor view = inner.results()[0].tensor();
  if (view.sizes() != source.sizes() || !b.EmitUpdate(source, view)) {
    return call.Fail("expected a source of sizes " + ToText(view.sizes()) +
                     ", found " + ToText(source.sizes()));
  }
  call.Return(out);
  return true;
}

bool SliceScatter(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ScatterInto(b, call, "aten.slice.Tensor");
}
bool SelectScatter(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return ScatterInto(b, call, "aten.select.int");
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

constexpr Lowering Op(std::string_view name, LowerFn lower) {
  return {name, LoweringKind::kPure, lower};
}

constexpr Lowering kLowerings[] = {
    Op("aten.slice_scatter.default", SliceScatter),
    Op("aten.select_scatter.default", SelectScatter),
    Op("aten.copy.default", CopyFunctional),
};

}  // namespace

std::span<const Lowering> OverwriteLowerings() { return kLowerings; }

}  // namespace tenon::cpu
