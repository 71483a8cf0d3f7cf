// Factorisations of dense matrices, by the textbook.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/linalg_matrix.h"

namespace tenon {

// P A = L U in one matrix: U above and on the diagonal, L without its diagonal
// of ones below. Row i was swapped with row pivots[i] when its turn came.
struct LuFactors {
  Matrix lu;
  std::vector<int64_t> pivots;  // from 0
  // LAPACK's info: 0, or the number (from 1) of the first diagonal element of U
  // that is zero.
  int64_t info = 0;
};
// Partial pivoting by |re| + |im|, as LAPACK does; none without `pivots`.
LuFactors FactorLu(Matrix a, bool pivots = true);
// 1 or -1: what the swaps do to the determinant.
double PermutationSign(const std::vector<int64_t>& pivots);
// Swaps rows of `b` as the factorisation did.
void ApplyPivots(const std::vector<int64_t>& pivots, Matrix* b);
void UndoPivots(const std::vector<int64_t>& pivots, Matrix* b);

// A X = B for triangular A, in place. Zeros on the diagonal divide.
struct Triangle {
  bool is_upper = false;
  bool is_unit = false;  // the diagonal counts as ones
};
void SolveTriangular(const Matrix& a, Triangle triangle, Matrix* b);
// A X = B.
void SolveLu(const LuFactors& factors, Matrix* b);

// L L^H = A, from A's lower triangle. False with the number (from 1) of the
// leading minor that isn't positive definite.
bool FactorCholesky(const Matrix& a, Matrix* l, int64_t* info);

}  // namespace tenon
