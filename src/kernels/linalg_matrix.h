// Matrices in double precision, and stacks of them as tensors.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace tenon {

// Row-major. Real matrices have no imaginary parts.
struct Matrix {
  using Element = std::complex<double>;

  Matrix() = default;
  Matrix(int64_t num_rows, int64_t num_columns)
      : rows(num_rows),
        columns(num_columns),
        values(static_cast<size_t>(num_rows * num_columns)) {}
  static Matrix Identity(int64_t n);

  Element& at(int64_t r, int64_t c) {
    return values[static_cast<size_t>(r * columns + c)];
  }
  const Element& at(int64_t r, int64_t c) const {
    return values[static_cast<size_t>(r * columns + c)];
  }

  int64_t rows = 0, columns = 0;
  std::vector<Element> values;
};

Matrix operator*(const Matrix& a, const Matrix& b);
Matrix Transposed(const Matrix& a);
Matrix Conjugated(Matrix a);

// The last two dimensions of a tensor, for each position of the others.
struct MatrixStack {
  Sizes batch;
  int64_t rows = 0, columns = 0;
  std::vector<Matrix> matrices;
};
// Fails the call unless the tensor has two dimensions, and with
// `must_be_square` as many rows as columns; and unless its dtype is float32,
// float64 or a complex of these.
bool ReadMatrices(KernelCall& call, const Tensor& tensor, bool must_be_square,
                  MatrixStack* out);
// As many copies as it takes to fill `batch`, to which the stack broadcasts.
bool ExpandMatrices(KernelCall& call, const Sizes& batch, MatrixStack* stack);
// The batch that two stacks broadcast to.
bool CommonBatch(KernelCall& call, const Sizes& a, const Sizes& b, Sizes* out);

// LAPACK's order, in which PyTorch returns what it computes in place.
enum class MatrixOrder { kRowMajor, kColumnMajor };
bool MakeMatrices(KernelCall& call, DType dtype, const MatrixStack& stack,
                  MatrixOrder order, Tensor* out);
// One value per matrix.
bool MakeValues(KernelCall& call, DType dtype, const Sizes& batch,
                const std::vector<Matrix::Element>& values, Tensor* out);

}  // namespace tenon
