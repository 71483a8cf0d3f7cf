// Calling one operator's kernel from another's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace tenon {

// Runs the kernel of `name` on `args`, the leading schema arguments; the rest
// take their defaults. On failure `call` fails with the inner message. The
// inner call draws from the same generator.
bool CallKernel(KernelCall& call, std::string_view name,
                std::vector<RuntimeValue> args,
                std::vector<RuntimeValue>* results);
// For operators whose only result is a tensor.
bool CallKernel(KernelCall& call, std::string_view name,
                std::vector<RuntimeValue> args, Tensor* result);
// Makes the inner results the results of `call`.
bool ForwardTo(KernelCall& call, std::string_view name,
               std::vector<RuntimeValue> args);

// Operators in a row, each fed with tensors that those before it gave: how one
// operator is defined by others, whoever runs them. After the first failure,
// which the call keeps, nothing runs and results are undefined.
class OperatorChain {
 public:
  explicit OperatorChain(KernelCall& call) : call_(call) {}
  OperatorChain(const OperatorChain&) = delete;
  OperatorChain& operator=(const OperatorChain&) = delete;

  bool ok() const { return ok_; }
  // The only result of `name` on the leading arguments `args`.
  virtual Tensor operator()(std::string_view name,
                            std::vector<RuntimeValue> args) = 0;
  // `tensor` in another dtype; itself when it has that.
  virtual Tensor To(const Tensor& tensor, DType dtype) = 0;
  // `tensor` in other sizes, one of which may be -1.
  Tensor Reshape(const Tensor& tensor, const std::vector<int64_t>& sizes);
  // A number as it is. The only element of a tensor: as a number if it is
  // known, else as a 0-d float32.
  RuntimeValue Number(const RuntimeValue& value);
  // Makes `tensors` the results of the call, unless something failed.
  bool Return(const std::vector<Tensor>& tensors);

 protected:
  ~OperatorChain() = default;
  virtual RuntimeValue ItemOf(const Tensor& tensor) = 0;
  Tensor Fail(std::string message);

  KernelCall& call_;
  bool ok_ = true;
};

// A chain of kernels.
class KernelChain final : public OperatorChain {
 public:
  using OperatorChain::OperatorChain;
  Tensor operator()(std::string_view name,
                    std::vector<RuntimeValue> args) override;
  Tensor To(const Tensor& tensor, DType dtype) override;

 private:
  RuntimeValue ItemOf(const Tensor& tensor) override;
};

// A list argument of ints.
RuntimeValue IntList(const std::vector<int64_t>& values);
RuntimeValue TensorList(const std::vector<Tensor>& tensors);

}  // namespace tenon
