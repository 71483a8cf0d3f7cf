// In which dtype an ONNX operator computes, and since which opset it is there.
#pragma once

#include <string_view>

#include "ir/kinds.h"

namespace tenon::onnx {

// What operands of `dtype` are turned into for `op`, so that engines have a
// kernel for it; `dtype` itself where they have one, or where no wider dtype
// would give the same. Operators that only move elements take all.
DType ComputeDtype(std::string_view op, DType dtype, bool widen_bfloat16);

// Which operands that is said of: all but the first of Where, for instance.
bool IsComputedOperand(std::string_view op, size_t operand);

// What ComputeDtype was asked for decides the result's dtype, too: not so for
// comparisons, which give bool whatever they compare.
bool ResultFollowsOperands(std::string_view op);

// The first opset that has the operator as it is used here.
int FirstOpsetOf(std::string_view op);
int FirstOpsetOf(DType dtype);

}  // namespace tenon::onnx
