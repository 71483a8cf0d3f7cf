// What the operators that make tensors share: their keyword arguments.
#pragma once

#include "kernels/kernel.h"

namespace tenon {

// Reads dtype and refuses layouts and devices that don't exist here, wherever
// the schema has them. `*dtype` keeps its value when none was given.
bool ReadOptions(KernelCall& call, DType* dtype);

// The strides that the *_like operators give: by memory_format, by default
// those of `self`.
bool ReadLikeStrides(KernelCall& call, const Tensor& self, Sizes* strides);

// The parts of the family, one per file factory_*.cc.
std::span<const KernelEntry> FilledKernels();
std::span<const KernelEntry> RangeKernels();
std::span<const KernelEntry> RandomKernels();

}  // namespace tenon
