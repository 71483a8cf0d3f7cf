// Matrix products of tensors, for the operators that are made of them.
#pragma once

#include "kernels/kernel.h"

namespace tenon {

// a [.., m, k] times b [.., k, n], batch dimensions broadcast; the result is
// contiguous. `bias`, if defined, broadcasts to the result and is added before
// rounding: beta * bias + alpha * product. A beta or alpha of 0 drops its
// term, nan included. None counts as 1.
struct ScaledBias {
  Tensor bias;
  RuntimeValue beta, alpha;
};
bool Product(KernelCall& call, const Tensor& a, const Tensor& b,
             const ScaledBias& scaled, Tensor* out);

// torch.matmul: vectors are rows or columns, batches broadcast.
bool MatMul(KernelCall& call, const Tensor& a, const Tensor& b, Tensor* out);

}  // namespace tenon
