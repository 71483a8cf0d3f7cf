// PyTorch's type promotion.
//
// Operands rank: tensors with dimensions, then 0-d tensors, then Python
// numbers. A lower rank counts only where its category (bool, integer, real,
// complex) is higher:
//
//   bf16[1] + f32[]  -> bf16        i32[1] + f64[] -> f64
//   bf16[1] + f32[1] -> f32         i32[1] + 1.5   -> f32, the default dtype
#pragma once

#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace tenon {

// A tensor, or a Python number as a 0-d tensor of int64, float64, bool or
// complex128.
struct Operand {
  Tensor tensor;
  bool is_number = false;
};

// The argument as an operand, a number in a Scalar slot included.
Operand OperandOf(const KernelCall& call, size_t arg);

// The dtype that both convert to; kUnknown when PyTorch has none (float8 with
// other kinds, uint16 and wider with other integers).
DType PromoteTypes(DType a, DType b);
// kUnknown likewise.
DType ResultType(std::span<const Operand> operands);

// Real of the same precision: complex64 -> float32. Other kinds stay.
DType RealDType(DType dtype);
// complex64 for float32 and narrower (float16: complex32), complex128.
DType ComplexDType(DType dtype);
// float32, the default dtype, for integers and bool; others stay.
DType IntToFloat(DType dtype);

// Whether PyTorch would store a result computed in `from` into `to`: not from
// complex to real, nor real to integer, nor anything but bool to bool.
bool CanCast(DType from, DType to);

// Whether a scalar converts to `dtype` without overflow; fails the call if
// not. As in PyTorch, unsigned kinds take negative numbers down to -max, which
// wrap, real numbers lose their fraction, and bool takes all.
bool CheckFits(KernelCall& call, const RuntimeValue& scalar, DType dtype);

}  // namespace tenon
