// Calling one operator's kernel from another's.
#pragma once

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

// Kernels in a row, each fed with tensors that those before it gave. After the
// first failure, which `call` keeps, nothing runs and results are undefined.
class KernelChain {
 public:
  explicit KernelChain(KernelCall& call) : call_(call) {}

  bool ok() const { return ok_; }
  // The only result of `name` on the leading arguments `args`.
  Tensor operator()(std::string_view name, std::vector<RuntimeValue> args);
  // `tensor` in another dtype; itself when it has that.
  Tensor To(const Tensor& tensor, DType dtype);
  // `tensor` in other sizes, one of which may be -1.
  Tensor Reshape(const Tensor& tensor, const std::vector<int64_t>& sizes);
  // Makes `tensors` the results of the call, unless something failed.
  bool Return(const std::vector<Tensor>& tensors);

 private:
  KernelCall& call_;
  bool ok_ = true;
};

// A list argument of ints.
RuntimeValue IntList(const std::vector<int64_t>& values);
RuntimeValue TensorList(const std::vector<Tensor>& tensors);

}  // namespace tenon
