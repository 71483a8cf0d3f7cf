#include "kernels/linalg_factor.h"

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

using Element = Matrix::Element;

double Magnitude(const Element& v) {
  return std::abs(v.real()) + std::abs(v.imag());
}

void SwapRows(Matrix* m, int64_t a, int64_t b) {
  if (a == b) return;
  for (int64_t c = 0; c < m->columns; ++c) std::swap(m->at(a, c), m->at(b, c));
}

}  // namespace

LuFactors FactorLu(Matrix a, bool pivots) {
  LuFactors out;
  const int64_t steps = std::min(a.rows, a.columns);
  for (int64_t k = 0; k < steps; ++k) {
    int64_t best = k;
    for (int64_t r = k + 1; r < a.rows && pivots; ++r) {
      if (Magnitude(a.at(r, k)) > Magnitude(a.at(best, k))) best = r;
    }
    out.pivots.push_back(best);
    SwapRows(&a, k, best);
    const Element pivot = a.at(k, k);
    if (pivot == Element(0)) {
      if (out.info == 0) out.info = k + 1;
      continue;
    }
    for (int64_t r = k + 1; r < a.rows; ++r) {
      a.at(r, k) /= pivot;
      const Element factor = a.at(r, k);
      for (int64_t c = k + 1; c < a.columns; ++c) {
        a.at(r, c) -= factor * a.at(k, c);
      }
    }
  }
  out.lu = std::move(a);
  return out;
}

double PermutationSign(const std::vector<int64_t>& pivots) {
  double sign = 1;
  for (size_t i = 0; i < pivots.size(); ++i) {
    if (pivots[i] != static_cast<int64_t>(i)) sign = -sign;
  }
  return sign;
}

void ApplyPivots(const std::vector<int64_t>& pivots, Matrix* b) {
  for (size_t i = 0; i < pivots.size(); ++i) {
    SwapRows(b, static_cast<int64_t>(i), pivots[i]);
  }
}

void UndoPivots(const std::vector<int64_t>& pivots, Matrix* b) {
  for (size_t i = pivots.size(); i-- > 0;) {
    SwapRows(b, static_cast<int64_t>(i), pivots[i]);
  }
}

void SolveTriangular(const Matrix& a, Triangle triangle, Matrix* b) {
  const int64_t n = a.rows;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t r = triangle.is_upper ? n - 1 - step : step;
    const int64_t begin = triangle.is_upper ? r + 1 : 0;
    const int64_t end = triangle.is_upper ? n : r;
    for (int64_t c = 0; c < b->columns; ++c) {
      Element sum = b->at(r, c);
      for (int64_t k = begin; k < end; ++k) sum -= a.at(r, k) * b->at(k, c);
      b->at(r, c) = triangle.is_unit ? sum : sum / a.at(r, r);
    }
  }
}

void SolveLu(const LuFactors& factors, Matrix* b) {
  ApplyPivots(factors.pivots, b);
  SolveTriangular(factors.lu, {false, true}, b);
  SolveTriangular(factors.lu, {true, false}, b);
}

bool FactorCholesky(const Matrix& a, Matrix* l, int64_t* info) {
  *l = Matrix(a.rows, a.rows);
  *info = 0;
  for (int64_t k = 0; k < a.rows; ++k) {
    double diagonal = a.at(k, k).real();
    for (int64_t j = 0; j < k; ++j) diagonal -= std::norm(l->at(k, j));
    if (!(diagonal > 0)) {
      *info = k + 1;
      return false;
    }
    l->at(k, k) = std::sqrt(diagonal);
    for (int64_t r = k + 1; r < a.rows; ++r) {
      Element sum = a.at(r, k);
      for (int64_t j = 0; j < k; ++j) {
        sum -= l->at(r, j) * std::conj(l->at(k, j));
      }
      l->at(r, k) = sum / l->at(k, k);
    }
  }
  return true;
}

}  // namespace tenon
