#include "kernels/linalg_matrix.h"

#include <algorithm>
#include <string>

#include "kernels/broadcast.h"
#include "kernels/elements.h"

namespace tenon {

Matrix Matrix::Identity(int64_t n) {
  Matrix out(n, n);
  for (int64_t i = 0; i < n; ++i) out.at(i, i) = 1;
  return out;
}

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t j = 0; j < b.columns; ++j) {
        out.at(i, j) += a.at(i, k) * b.at(k, j);
      }
    }
  }
  return out;
}

Matrix Transposed(const Matrix& a) {
  Matrix out(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) out.at(j, i) = a.at(i, j);
  }
  return out;
}

Matrix Conjugated(Matrix a) {
  for (Matrix::Element& v : a.values) v = std::conj(v);
  return a;
}

bool ReadMatrices(KernelCall& call, const Tensor& tensor, bool must_be_square,
                  MatrixStack* out) {
  if (tensor.dim() < 2) return call.Fail("at least 2 dimensions are needed");
  const DType dtype = tensor.dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64 &&
      dtype != DType::kComplex64 && dtype != DType::kComplex128) {
    return call.Fail("no linear algebra of " + std::string(Name(dtype)));
  }
  out->rows = tensor.size(tensor.dim() - 2);
  out->columns = tensor.size(tensor.dim() - 1);
  if (must_be_square && out->rows != out->columns) {
    return call.Fail("the matrices have to be square");
  }
  out->batch.assign(tensor.sizes().begin(), tensor.sizes().end() - 2);
  const auto elements = ReadAll<Matrix::Element>(tensor);
  const auto count = static_cast<size_t>(NumElements(out->batch));
  const auto size = static_cast<size_t>(out->rows * out->columns);
  for (size_t i = 0; i < count; ++i) {
    Matrix& m = out->matrices.emplace_back(out->rows, out->columns);
    const auto begin = elements.begin() + static_cast<std::ptrdiff_t>(i * size);
    m.values.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return true;
}

bool CommonBatch(KernelCall& call, const Sizes& a, const Sizes& b, Sizes* out) {
  return BroadcastSizes(a, b, out) ||
         call.Fail("the batches of matrices don't broadcast");
}

bool ExpandMatrices(KernelCall& call, const Sizes& batch, MatrixStack* stack) {
  if (stack->batch == batch) return true;
  Sizes strides(batch.size(), 0);
  const size_t skipped = batch.size() - stack->batch.size();
  const Sizes own = ContiguousStrides(stack->batch);
  for (size_t d = 0; d < stack->batch.size(); ++d) {
    if (stack->batch[d] == batch[skipped + d]) {
      strides[skipped + d] = own[d];
    } else if (stack->batch[d] != 1) {
      return call.Fail("the batches of matrices don't broadcast");
    }
  }
  std::vector<Matrix> matrices;
  const int64_t count = NumElements(batch);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0;
    for (size_t d = batch.size(); d-- > 0;) {
      at += rest % batch[d] * strides[d];
      rest /= batch[d];
    }
    matrices.push_back(stack->matrices[static_cast<size_t>(at)]);
  }
  stack->matrices = std::move(matrices);
  stack->batch = batch;
  return true;
}

bool MakeMatrices(KernelCall& call, DType dtype, const MatrixStack& stack,
                  MatrixOrder order, Tensor* out) {
  Sizes sizes = stack.batch;
  sizes.push_back(stack.rows);
  sizes.push_back(stack.columns);
  Sizes strides = ContiguousStrides(sizes);
  if (order == MatrixOrder::kColumnMajor) {
    strides[strides.size() - 2] = 1;
    strides[strides.size() - 1] = std::max<int64_t>(stack.rows, 1);
  }
  *out = Tensor::EmptyStrided(dtype, sizes, strides);
  if (!out->defined()) return call.Fail("out of memory");
  std::vector<Matrix::Element> elements;
  for (const Matrix& m : stack.matrices) {
    elements.insert(elements.end(), m.values.begin(), m.values.end());
  }
  WriteAll(out, elements);
  return true;
}

bool MakeValues(KernelCall& call, DType dtype, const Sizes& batch,
                const std::vector<Matrix::Element>& values, Tensor* out) {
  *out = Tensor::Empty(dtype, batch);
  if (!out->defined()) return call.Fail("out of memory");
  WriteAll(out, values);
  return true;
}

}  // namespace tenon
