// Tensors whose bytes are known while planning.
#pragma once

#include "tensor/value.h"

namespace tenon::cpu {

// A 0-d tensor holding the scalar, cast to `dtype`.
Tensor ConstantOf(const RuntimeValue& scalar, DType dtype);
// The only element of a tensor with bytes.
RuntimeValue ElementOf(const Tensor& constant);
// Undefined when memory runs out.
Tensor CastConstant(const Tensor& constant, DType dtype);

}  // namespace tenon::cpu
