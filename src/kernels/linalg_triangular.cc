// Systems with triangular matrices, Cholesky factorisation, matrix exponential.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/elements.h"
#include "kernels/linalg_factor.h"
#include "kernels/registry.h"

namespace tenon {
namespace {

// Only the triangle that is named is looked at.
Matrix TriangleOf(const Matrix& a, bool is_upper) {
  Matrix out(a.rows, a.columns);
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < a.columns; ++c) {
      if (is_upper ? c >= r : c <= r) out.at(r, c) = a.at(r, c);
    }
  }
  return out;
}

bool ReturnStack(KernelCall& call, DType dtype, const MatrixStack& stack,
                 MatrixOrder order = MatrixOrder::kColumnMajor) {
  Tensor out;
  if (!MakeMatrices(call, dtype, stack, order, &out)) return false;
  call.Return(std::move(out));
  return true;
}

// Both with one batch.
bool ReadSystem(KernelCall& call, const Tensor& a, const Tensor& b,
                MatrixStack* as, MatrixStack* bs) {
  Sizes batch;
  if (a.dtype() != b.dtype()) return call.Fail("A and B need one dtype");
  return ReadMatrices(call, a, true, as) && ReadMatrices(call, b, false, bs) &&
         CommonBatch(call, as->batch, bs->batch, &batch) &&
         ExpandMatrices(call, batch, as) && ExpandMatrices(call, batch, bs);
}

// self X = B, or X self = B.
bool LinalgSolveTriangular(KernelCall& call) {
  const bool is_upper = call.Bool(2), is_left = call.Bool(3);
  const bool is_unit = call.Bool(4);
  MatrixStack as, bs;
  if (!ReadSystem(call, call.tensor(0), call.tensor(1), &as, &bs)) return false;
  if ((is_left ? bs.rows : bs.columns) != as.rows) {
    return call.Fail("A and B have other sizes");
  }
  for (size_t i = 0; i < bs.matrices.size(); ++i) {
    Matrix& b = bs.matrices[i];
    if (is_left) {
      SolveTriangular(as.matrices[i], {is_upper, is_unit}, &b);
    } else {
      b = Transposed(b);
      SolveTriangular(Transposed(as.matrices[i]), {!is_upper, is_unit}, &b);
      b = Transposed(b);
    }
  }
  return ReturnStack(call, call.tensor(1).dtype(), bs);
}

// The older operator: (self = B, A), and a copy of A beside the solution.
bool OldTriangularSolve(KernelCall& call) {
  const bool is_upper = call.Bool(2), is_transposed = call.Bool(3);
  MatrixStack as, bs;
  if (!ReadSystem(call, call.tensor(1), call.tensor(0), &as, &bs)) return false;
  if (bs.rows != as.rows) return call.Fail("A and B have other sizes");
  for (size_t i = 0; i < bs.matrices.size(); ++i) {
    const Matrix& a = as.matrices[i];
    SolveTriangular(is_transposed ? Transposed(a) : a,
                    {is_upper != is_transposed, call.Bool(4)}, &bs.matrices[i]);
  }
  const DType dtype = call.tensor(0).dtype();
  return ReturnStack(call, dtype, bs) && ReturnStack(call, dtype, as);
}

// --- Cholesky ---

bool Cholesky(KernelCall& call, bool is_upper, bool checks_errors,
              bool with_info) {
  const Tensor& a = call.tensor(0);
  MatrixStack stack;
  if (!ReadMatrices(call, a, true, &stack)) return false;
  std::vector<Matrix::Element> infos;
  for (Matrix& m : stack.matrices) {
    Matrix l;
    int64_t info = 0;
    // The upper factor comes from the upper triangle.
    if (is_upper) m = Conjugated(Transposed(m));
    if (!FactorCholesky(m, &l, &info) && checks_errors) {
      return call.Fail("the leading minor of order " + std::to_string(info) +
                       " is not positive-definite");
    }
    m = is_upper ? Conjugated(Transposed(l)) : l;
    infos.emplace_back(static_cast<double>(info));
  }
  Tensor info;
  if (!ReturnStack(call, a.dtype(), stack)) return false;
  if (!with_info) return true;
  if (!MakeValues(call, DType::kInt32, stack.batch, infos, &info)) return false;
  call.Return(std::move(info));
  return true;
}
bool LinalgCholeskyEx(KernelCall& call) {
  return Cholesky(call, call.Bool(1), call.Bool(2), true);
}
bool LinalgCholesky(KernelCall& call) {
  return Cholesky(call, call.Bool(1), true, false);
}

// L L^H X = B, or U^H U X = B.
void SolveCholesky(const Matrix& factor, bool is_upper, Matrix* b) {
  const Matrix lower = is_upper
                           ? Conjugated(Transposed(TriangleOf(factor, true)))
                           : TriangleOf(factor, false);
  SolveTriangular(lower, {false, false}, b);
  SolveTriangular(Conjugated(Transposed(lower)), {true, false}, b);
}

bool CholeskySolve(KernelCall& call) {
  MatrixStack factors, bs;
  if (!ReadSystem(call, call.tensor(1), call.tensor(0), &factors, &bs)) {
    return false;
  }
  if (bs.rows != factors.rows) return call.Fail("the sizes don't fit");
  for (size_t i = 0; i < bs.matrices.size(); ++i) {
    SolveCholesky(factors.matrices[i], call.Bool(2), &bs.matrices[i]);
  }
  return ReturnStack(call, call.tensor(0).dtype(), bs);
}

bool CholeskyInverse(KernelCall& call) {
  MatrixStack stack;
  if (!ReadMatrices(call, call.tensor(0), true, &stack)) return false;
  for (Matrix& m : stack.matrices) {
    Matrix inverse = Matrix::Identity(m.rows);
    SolveCholesky(m, call.Bool(1), &inverse);
    m = std::move(inverse);
  }
  return ReturnStack(call, call.tensor(0).dtype(), stack);
}

// --- exponential ---

double LargestColumnSum(const Matrix& a) {
  double largest = 0;
  for (int64_t c = 0; c < a.columns; ++c) {
    double sum = 0;
    for (int64_t r = 0; r < a.rows; ++r) sum += std::abs(a.at(r, c));
    largest = std::max(largest, sum);
  }
  return largest;
}

// The series of the matrix scaled below 1/2, squared back.
Matrix Exponential(Matrix a) {
  constexpr int kTerms = 18;  // 0.5^18 / 18! is below a double's precision
  const double norm = LargestColumnSum(a);
  const int squarings =
      norm > 0.5 && std::isfinite(norm)
          ? std::max(0, static_cast<int>(std::ceil(std::log2(norm))) + 1)
          : 0;
  for (Matrix::Element& v : a.values) v = std::ldexp(1.0, -squarings) * v;
  Matrix sum = Matrix::Identity(a.rows), term = sum;
  for (int k = 1; k <= kTerms; ++k) {
    term = term * a;
    for (size_t i = 0; i < term.values.size(); ++i) {
      term.values[i] /= k;
      sum.values[i] += term.values[i];
    }
  }
  for (int i = 0; i < squarings; ++i) sum = sum * sum;
  return sum;
}

bool MatrixExp(KernelCall& call) {
  const Tensor& a = call.tensor(0);
  const bool is_half =
      a.dtype() == DType::kFloat16 || a.dtype() == DType::kBFloat16;
  MatrixStack stack;
  if (!ReadMatrices(call, is_half ? Cast(a, DType::kFloat32) : a, true,
                    &stack)) {
    return false;
  }
  for (Matrix& m : stack.matrices) m = Exponential(std::move(m));
  return ReturnStack(call, a.dtype(), stack, MatrixOrder::kRowMajor);
}

constexpr KernelEntry kEntries[] = {
    {"aten.cholesky.default", &LinalgCholesky},
    {"aten.cholesky_inverse.default", &CholeskyInverse},
    {"aten.cholesky_solve.default", &CholeskySolve},
    {"aten.linalg_cholesky.default", &LinalgCholesky},
    {"aten.linalg_cholesky_ex.default", &LinalgCholeskyEx},
    {"aten.linalg_matrix_exp.default", &MatrixExp},
    {"aten.linalg_solve_triangular.default", &LinalgSolveTriangular},
    {"aten.matrix_exp.default", &MatrixExp},
    {"aten.triangular_solve.default", &OldTriangularSolve},
};

}  // namespace

std::span<const KernelEntry> LinalgTriangularKernels() { return kEntries; }

}  // namespace tenon
