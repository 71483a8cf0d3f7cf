// Reading and writing tensor elements in the compute types of dispatch.h,
// casts between dtypes, and scalars.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/dispatch.h"
#include "tensor/value.h"

namespace tenon {

// `count` elements from `from` on, `step` elements apart, converted as a cast
// converts. C is any compute type.
template <typename C>
void LoadRun(DType dtype, const std::byte* from, int64_t step, int64_t count,
             C* out);
// The way back: integers wrap, floats round, bool is != 0, a complex number
// becomes its real part.
template <typename C>
void StoreRun(DType dtype, std::byte* to, int64_t step, int64_t count,
              const C* values);

// All elements in row-major order, whatever the strides.
template <typename C>
std::vector<C> ReadAll(const Tensor& tensor);
// `values` has numel() entries.
template <typename C>
void WriteAll(Tensor* tensor, const std::vector<C>& values);

// Element `index` of the row-major order is slow to find; this is for 0-d
// tensors and tensors of one element.
template <typename C>
C ReadOne(const Tensor& tensor);

// PyTorch's cast: a fresh tensor with the strides of a dense input kept.
// Undefined when memory runs out. `tensor` itself when the dtype is the same.
Tensor Cast(const Tensor& tensor, DType dtype);
// Writes `source`, cast to `to`'s dtype and broadcast to its sizes. The caller
// has checked that it broadcasts. The two may not overlap.
void CopyCast(Tensor* to, const Tensor& source);

// A scalar as PyTorch's Scalar: the dtype that Python's type stands for.
DType ScalarDType(const RuntimeValue& scalar);  // int64, float64, bool, c128
// The scalar in a compute type, as static_cast has it.
template <typename C>
C ScalarAs(const RuntimeValue& scalar);
// A 0-d tensor of ScalarDType holding it.
Tensor ScalarTensor(const RuntimeValue& scalar);
Tensor ScalarTensor(const RuntimeValue& scalar, DType dtype);
// The only element of a tensor, as the scalar that Tensor.item() gives.
RuntimeValue ItemOf(const Tensor& tensor);

// Sets every element.
template <typename C>
void Fill(Tensor* tensor, C value);
void FillScalar(Tensor* tensor, const RuntimeValue& scalar);

}  // namespace tenon
