// Lowering one operator as a row of others, as kernels/compose.h does it for
// kernels: the chains are the ones by which PyTorch defines the operator, so
// that promotion and rounding agree step by step. Elementwise links merge.
#pragma once

#include <string_view>
#include <vector>

#include "backends/cpu/plan_builder.h"
#include "kernels/compose.h"

namespace tenon::cpu {

// After the first failure, which `call` keeps, nothing is lowered and results
// are undefined.
class PlanChain {
 public:
  PlanChain(PlanBuilder& builder, KernelCall& call)
      : builder_(builder), call_(call) {}

  bool ok() const { return ok_; }
  // The only result of `name` on the leading arguments `args`.
  Tensor operator()(std::string_view name, std::vector<RuntimeValue> args);
  // `tensor` in another dtype; itself when it has that.
  Tensor To(const Tensor& tensor, DType dtype);
  // `tensor` in other sizes, one of which may be -1.
  Tensor Reshape(const Tensor& tensor, const std::vector<int64_t>& sizes);
  // A number as it is, the only element of a tensor as a 0-d float32.
  RuntimeValue Number(const RuntimeValue& value);
  // Makes `tensors` the results of the call, unless something failed.
  bool Return(const std::vector<Tensor>& tensors);

 private:
  Tensor Fail(std::string message);

  PlanBuilder& builder_;
  KernelCall& call_;
  bool ok_ = true;
};

}  // namespace tenon::cpu
