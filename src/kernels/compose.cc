#include "kernels/compose.h"

#include "kernels/elements.h"

namespace tenon {

bool CallKernel(KernelCall& call, std::string_view name,
                std::vector<RuntimeValue> args,
                std::vector<RuntimeValue>* results) {
  const OpSchema* schema = FindSchema(name);
  const Kernel kernel = FindKernel(name);
  if (schema == nullptr || kernel == nullptr) {
    return call.Fail("no reference kernel for " + std::string(name));
  }
  std::vector<bool> present(args.size(), true);
  present.resize(schema->args.size(), false);
  args.resize(schema->args.size());
  std::string error;
  if (!CompleteArgs(*schema, &args, present, &error)) return call.Fail(error);
  KernelCall inner(*schema, std::move(args));
  inner.generator = call.generator;
  if (!kernel(inner)) return call.Fail(inner.error());
  *results = std::move(inner.results());
  return true;
}

bool CallKernel(KernelCall& call, std::string_view name,
                std::vector<RuntimeValue> args, Tensor* result) {
  std::vector<RuntimeValue> results;
  if (!CallKernel(call, name, std::move(args), &results)) return false;
  if (results.size() != 1 || !results[0].is_tensor()) {
    return call.Fail(std::string(name) + " gave no single tensor");
  }
  *result = std::move(results[0].tensor());
  return true;
}

bool ForwardTo(KernelCall& call, std::string_view name,
               std::vector<RuntimeValue> args) {
  std::vector<RuntimeValue> results;
  if (!CallKernel(call, name, std::move(args), &results)) return false;
  for (RuntimeValue& value : results) call.Return(std::move(value));
  return true;
}

Tensor OperatorChain::Reshape(const Tensor& tensor,
                              const std::vector<int64_t>& sizes) {
  return (*this)("aten.reshape.default", {tensor, IntList(sizes)});
}

RuntimeValue OperatorChain::Number(const RuntimeValue& value) {
  if (!ok_ || !value.is_tensor()) return value;
  if (value.tensor().numel() != 1) {
    return Fail("expected a tensor of one element");
  }
  return ItemOf(value.tensor());
}

bool OperatorChain::Return(const std::vector<Tensor>& tensors) {
  if (!ok_) return false;
  for (const Tensor& tensor : tensors) call_.Return(tensor);
  return true;
}

Tensor OperatorChain::Fail(std::string message) {
  ok_ = false;
  call_.Fail(std::move(message));
  return Tensor();
}

Tensor KernelChain::operator()(std::string_view name,
                               std::vector<RuntimeValue> args) {
  Tensor result;
  ok_ = ok_ && CallKernel(call_, name, std::move(args), &result);
  return ok_ ? result : Tensor();
}

Tensor KernelChain::To(const Tensor& tensor, DType dtype) {
  if (!ok_) return Tensor();
  const Tensor result = Cast(tensor, dtype);
  return result.defined() ? result : Fail("out of memory");
}

RuntimeValue KernelChain::ItemOf(const Tensor& tensor) {
  return tenon::ItemOf(tensor);
}

RuntimeValue IntList(const std::vector<int64_t>& values) {
  return RuntimeValue::List(values.begin(), values.end());
}

RuntimeValue TensorList(const std::vector<Tensor>& tensors) {
  return RuntimeValue::List(tensors.begin(), tensors.end());
}

}  // namespace tenon
