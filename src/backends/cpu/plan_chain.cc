#include "backends/cpu/plan_chain.h"

#include <string>
#include <utility>

#include "backends/cpu/lowering.h"

namespace tenon::cpu {

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

RuntimeValue PlanChain::ItemOf(const Tensor& tensor) {
  return To(Reshape(tensor, {}), DType::kFloat32);
}

}  // namespace tenon::cpu
