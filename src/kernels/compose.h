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

// A list argument of ints.
RuntimeValue IntList(const std::vector<int64_t>& values);
RuntimeValue TensorList(const std::vector<Tensor>& tensors);

}  // namespace tenon
