// Lowering one operator as a row of others, as kernels/compose.h does it for
// kernels: the chains are the ones by which PyTorch defines the operator, so
// that promotion and rounding agree step by step. Elementwise links merge.
#pragma once

#include <string_view>
#include <vector>

#include "backends/cpu/plan_builder.h"
#include "kernels/compose.h"

namespace tenon::cpu {

class PlanChain final : public OperatorChain {
 public:
  PlanChain(PlanBuilder& builder, KernelCall& call)
      : OperatorChain(call), builder_(builder) {}

  Tensor operator()(std::string_view name,
                    std::vector<RuntimeValue> args) override;
  Tensor To(const Tensor& tensor, DType dtype) override;

 private:
  RuntimeValue ItemOf(const Tensor& tensor) override;

  PlanBuilder& builder_;
};

}  // namespace tenon::cpu
