// Operators that cost nothing at run time: views, sizes, scalar arithmetic.
// The reference kernels evaluate them while planning.
#include "backends/cpu/lowering.h"

namespace tenon::cpu {
namespace {

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
    View("aten.slice.Tensor"),
    View("aten.select.int"),
    View("aten.narrow.default"),
    View("aten.split.Tensor"),
    View("aten.split.sizes"),
    View("aten.split_with_sizes.default"),
    View("aten.chunk.default"),
    View("aten.tensor_split.sections"),
    View("aten.unbind.int"),
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
