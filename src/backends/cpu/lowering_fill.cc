// Tensors full of one number, and other factories.
#include <string>

#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_results.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

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

constexpr Lowering Op(std::string_view name, LowerFn lower) {
  return {name, LoweringKind::kPure, lower};
}
constexpr Lowering Factory(std::string_view name) {
  return Op(name, NeverReached);
}

constexpr Lowering kLowerings[] = {
    Op("aten.full_like.default", FullLike),
    Op("aten.zeros_like.default", ConstantLike<0>),
    Op("aten.ones_like.default", ConstantLike<1>),
    Op("aten.new_full.default", NewFull),
    Op("aten.new_zeros.default", NewConstant<0>),
    Op("aten.new_ones.default", NewConstant<1>),
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

std::span<const Lowering> FillLowerings() { return kLowerings; }

}  // namespace tenon::cpu
