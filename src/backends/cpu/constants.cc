#include "backends/cpu/constants.h"

#include "kernels/elements.h"

namespace tenon::cpu {

Tensor ConstantOf(const RuntimeValue& scalar, DType dtype) {
  return ScalarTensor(scalar, dtype);
}

RuntimeValue ElementOf(const Tensor& constant) { return ItemOf(constant); }

Tensor CastConstant(const Tensor& constant, DType dtype) {
  return Cast(constant, dtype);
}

}  // namespace tenon::cpu
