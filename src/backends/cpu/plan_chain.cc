#include "backends/cpu/plan_chain.h"

#include <string>
#include <utility>

#include "backends/cpu/lowering.h"

namespace tenon::cpu {

Tensor PlanChain::Fail(std::string message) {
  ok_ = false;
  call_.Fail(std::move(message));
  return Tensor();
}

Tensor PlanChain::operator()(std::string_view name,
                             std::vector<RuntimeValue> args) {
  if (!ok_) return Tensor();
  const OpSchema* schema = FindSchema(name);
  const Lowering* lowering = FindLowering(name);
  if (schema == nullptr || lowering == nullptr) {
    return Fail("no lowering for " + std::string(name));
  }
  std::vector<bool> present(args.size(), true);
  present.resize(schema->args.size(), false);
  args.resize(schema->args.size());
  std::string error;
  if (!CompleteArgs(*schema, &args, present, &error)) return Fail(error);
  KernelCall inner(*schema, std::move(args));
  if (!builder_.LowerCall(*lowering, inner)) return Fail(inner.error());
  if (inner.results().size() != 1 || !inner.results()[0].is_tensor()) {
    return Fail(std::string(name) + " gave no single tensor");
  }
  return inner.results()[0].tensor();
}

Tensor PlanChain::To(const Tensor& tensor, DType dtype) {
  if (!ok_ || tensor.dtype() == dtype) return tensor;
  const Tensor result = builder_.Converted(tensor, dtype);
  return result.defined() ? result : Fail("cannot cast " + tensor.ToString());
}

Tensor PlanChain::Reshape(const Tensor& tensor,
                          const std::vector<int64_t>& sizes) {
  return (*this)("aten.reshape.default", {tensor, IntList(sizes)});
}

RuntimeValue PlanChain::Number(const RuntimeValue& value) {
  if (!ok_ || !value.is_tensor()) return value;
  if (value.tensor().numel() != 1) {
    return Fail("expected a tensor of one element");
  }
  return To(Reshape(value.tensor(), {}), DType::kFloat32);
}

bool PlanChain::Return(const std::vector<Tensor>& tensors) {
  if (!ok_) return false;
  for (const Tensor& tensor : tensors) call_.Return(tensor);
  return true;
}

}  // namespace tenon::cpu
