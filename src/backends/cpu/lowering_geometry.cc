// Operators that cost nothing at run time: views, sizes, scalar arithmetic.
// The reference kernels evaluate them while planning.
//
// And what copies a view: aten.permute_copy.default gives what
// aten.permute.default does, contiguous.
#include <string>

#include "backends/cpu/lowering.h"

namespace tenon::cpu {
namespace {

bool CopyResult(PlanBuilder& b, RuntimeValue* value) {
  if (value->is_list()) {
    for (RuntimeValue& item : value->list()) {
      if (!CopyResult(b, &item)) return false;
    }
    return true;
  }
  const Tensor view = value->tensor();
  const Tensor copy = b.NewTensor(view.dtype(), view.sizes());
  if (!copy.defined() || !b.EmitCopy(view, copy)) return false;
  *value = copy;
  return true;
}

bool CopyOfView(PlanBuilder& b, KernelCall& call, const Lowering& self) {
  std::string name(self.name);
  name.erase(name.find("_copy"), 5);
  const OpSchema* schema = FindCallSchema(name);
  const Kernel kernel = FindKernel(name);
  if (schema == nullptr || kernel == nullptr) {
    return call.Fail("no kernel for " + name);
  }
  std::vector<RuntimeValue> args;
  for (size_t i = 0; i < call.num_args(); ++i) args.push_back(call.arg(i));
  KernelCall view(*schema, std::move(args));
  if (!kernel(view)) return call.Fail(view.error());
  for (RuntimeValue& result : view.results()) {
    if (!CopyResult(b, &result)) return call.Fail("the result is too large");
    call.Return(std::move(result));
  }
  return true;
}

constexpr Lowering Copy(std::string_view name) {
  return {name, LoweringKind::kPure, CopyOfView};
}

constexpr Lowering View(std::string_view name) {
  return {name, LoweringKind::kGeometry};
}

constexpr Lowering kLowerings[] = {
    View("aten.alias.default"),
    View("aten.detach.default"),
    View("aten.view.default"),
    View("aten.view_as.default"),
    View("aten._unsafe_view.default"),
    View("aten.unflatten.int"),
    View("aten.expand.default"),
    View("aten.expand_as.default"),
    View("aten.broadcast_to.default"),
    View("aten.permute.default"),
    View("aten.transpose.int"),
    View("aten.t.default"),
    View("aten.numpy_T.default"),
    View("aten.mT.default"),
    View("aten.movedim.int"),
    View("aten.movedim.intlist"),
    View("aten.unsqueeze.default"),
    View("aten.squeeze.default"),
    View("aten.squeeze.dim"),
    View("aten.squeeze.dims"),
    View("aten.diagonal.default"),
    View("aten.unfold.default"),
    View("aten.as_strided.default"),
    View("aten.swapaxes.default"),
    View("aten.swapdims.default"),
    View("aten.moveaxis.int"),
    View("aten.moveaxis.intlist"),
    View("aten.tensor_split.indices"),
    View("aten.hsplit.int"),
    View("aten.hsplit.array"),
    View("aten.vsplit.int"),
    View("aten.vsplit.array"),
    View("aten.dsplit.int"),
    View("aten.dsplit.array"),
    View("aten.unsafe_split.Tensor"),
    View("aten.unsafe_split_with_sizes.default"),
    View("aten.unsafe_chunk.default"),
    View("aten.atleast_1d.default"),
    View("aten.atleast_2d.default"),
    View("aten.atleast_3d.default"),
    View("aten.broadcast_tensors.default"),
    View("aten.meshgrid.default"),
    View("aten.meshgrid.indexing"),
    View("aten.lift.default"),
    View("aten.lift_fresh.default"),
    View("aten.positive.default"),
    View("aten.conj.default"),
    View("aten._conj.default"),
    View("aten.conj_physical.default"),
    View("aten.resolve_conj.default"),
    View("aten.resolve_neg.default"),
    View("aten.real.default"),
    View("aten.slice.Tensor"),
    View("aten.select.int"),
    View("aten.narrow.default"),
    View("aten.split.Tensor"),
    View("aten.split.sizes"),
    View("aten.split_with_sizes.default"),
    View("aten.chunk.default"),
    View("aten.tensor_split.sections"),
    View("aten.unbind.int"),
    Copy("aten.alias_copy.default"),
    Copy("aten.as_strided_copy.default"),
    Copy("aten.detach_copy.default"),
    Copy("aten.diagonal_copy.default"),
    Copy("aten.expand_copy.default"),
    Copy("aten.lift_fresh_copy.default"),
    Copy("aten.narrow_copy.default"),
    Copy("aten.permute_copy.default"),
    Copy("aten.select_copy.int"),
    Copy("aten.slice_copy.Tensor"),
    Copy("aten.split_copy.Tensor"),
    Copy("aten.split_with_sizes_copy.default"),
    Copy("aten.squeeze_copy.default"),
    Copy("aten.squeeze_copy.dim"),
    Copy("aten.squeeze_copy.dims"),
    Copy("aten.t_copy.default"),
    Copy("aten.transpose_copy.int"),
    Copy("aten.unbind_copy.int"),
    Copy("aten.unfold_copy.default"),
    Copy("aten.unsqueeze_copy.default"),
    View("aten.sym_size.int"),
    View("aten.sym_numel.default"),
    View("aten.sym_stride.int"),
    View("aten.sym_storage_offset.default"),
    View("_operator.add"),
    View("_operator.sub"),
    View("_operator.mul"),
    View("_operator.truediv"),
    View("_operator.floordiv"),
    View("_operator.mod"),
    View("_operator.neg"),
    View("_operator.pow"),
    View("_operator.eq"),
    View("_operator.ne"),
    View("_operator.lt"),
    View("_operator.le"),
    View("_operator.gt"),
    View("_operator.ge"),
    View("_operator.and_"),
    View("_operator.or_"),
    View("_operator.not_"),
    View("math.ceil"),
    View("math.floor"),
    View("math.trunc"),
    View("torch.sym_max"),
    View("torch.sym_min"),
    View("torch.sym_not"),
    View("torch.sym_int"),
    View("torch.sym_float"),
    View("torch.sym_sqrt"),
    View("torch.sym_ite"),
};

}  // namespace

std::span<const Lowering> GeometryLowerings() { return kLowerings; }

}  // namespace tenon::cpu
