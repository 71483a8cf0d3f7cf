// Determinants, inverses and systems of equations, by LU factorisation.
//
// What PyTorch returns of a factorisation depends on the layout: it factors the
// transpose of real matrices that lie row by row, where only the answer to the
// question counts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/linalg_factor.h"
#include "kernels/promotion.h"
#include "kernels/registry.h"

namespace tenon {
namespace {

using Element = Matrix::Element;

// A stack of factorisations.
struct LuStack {
  Sizes batch;
  int64_t rows = 0, columns = 0;
  std::vector<LuFactors> factors;
};

LuStack FactorAll(const MatrixStack& a, bool pivots) {
  LuStack out{a.batch, a.rows, a.columns, {}};
  for (const Matrix& m : a.matrices) out.factors.push_back(FactorLu(m, pivots));
  return out;
}

MatrixStack TransposedAll(const MatrixStack& a) {
  MatrixStack out{a.batch, a.columns, a.rows, {}};
  for (const Matrix& m : a.matrices) out.matrices.push_back(Transposed(m));
  return out;
}

bool FactorsTranspose(const Tensor& a) {
  return a.is_contiguous() && !IsComplex(a.dtype());
}

bool ReturnLu(KernelCall& call, DType dtype, const LuStack& lu) {
  MatrixStack stack{lu.batch, lu.rows, lu.columns, {}};
  for (const LuFactors& f : lu.factors) stack.matrices.push_back(f.lu);
  Tensor out;
  if (!MakeMatrices(call, dtype, stack, MatrixOrder::kColumnMajor, &out)) {
    return false;
  }
  call.Return(std::move(out));
  return true;
}

// LAPACK counts rows from 1.
bool ReturnPivots(KernelCall& call, const LuStack& lu) {
  Sizes sizes = lu.batch;
  sizes.push_back(std::min(lu.rows, lu.columns));
  std::vector<Element> values;
  for (const LuFactors& f : lu.factors) {
    for (const int64_t p : f.pivots)
      values.push_back(static_cast<double>(p + 1));
  }
  Tensor out;
  if (!MakeValues(call, DType::kInt32, sizes, values, &out)) return false;
  call.Return(std::move(out));
  return true;
}

// Fails where a factorisation did, when errors are to be checked.
bool ReturnInfo(KernelCall& call, const LuStack& lu, bool checks_errors) {
  std::vector<Element> values;
  for (const LuFactors& f : lu.factors) {
    if (checks_errors && f.info != 0) {
      return call.Fail("the diagonal element " + std::to_string(f.info) +
                       " is zero: the matrix is singular");
    }
    values.push_back(static_cast<double>(f.info));
  }
  Tensor out;
  if (!MakeValues(call, DType::kInt32, lu.batch, values, &out)) return false;
  call.Return(std::move(out));
  return true;
}

bool ReturnMatrices(KernelCall& call, DType dtype, const MatrixStack& stack) {
  Tensor out;
  if (!MakeMatrices(call, dtype, stack, MatrixOrder::kColumnMajor, &out)) {
    return false;
  }
  call.Return(std::move(out));
  return true;
}

// --- factorisations themselves ---

bool ReturnFactors(KernelCall& call, bool pivots, bool checks_errors,
                   bool with_info) {
  const Tensor& a = call.tensor(0);
  MatrixStack stack;
  if (!ReadMatrices(call, a, false, &stack)) return false;
  const LuStack lu = FactorAll(stack, pivots);
  return ReturnLu(call, a.dtype(), lu) && ReturnPivots(call, lu) &&
         (!with_info || ReturnInfo(call, lu, checks_errors));
}
bool LuFactorEx(KernelCall& call) {
  return ReturnFactors(call, call.Bool(1), call.Bool(2), true);
}
// Doesn't check errors, whatever its argument of that name says.
bool LuWithInfo(KernelCall& call) {
  return ReturnFactors(call, call.Bool(1), false, true);
}
bool LuFactor(KernelCall& call) {
  return ReturnFactors(call, call.Bool(1), false, false);
}

// Pivots of a factorisation as a tensor, [.., n] counted from 1.
bool ReadPivots(KernelCall& call, const Tensor& tensor, int64_t rows,
                LuStack* lu) {
  if (tensor.dtype() != DType::kInt32) {
    return call.Fail("the pivots have to be int32");
  }
  const std::vector<int64_t> values = ReadAll<int64_t>(tensor);
  const size_t steps =
      lu->factors.empty() ? 0 : values.size() / lu->factors.size();
  for (size_t i = 0; i < lu->factors.size(); ++i) {
    for (size_t k = 0; k < steps; ++k) {
      const int64_t pivot = values[i * steps + k] - 1;
      if (pivot < 0 || pivot >= rows) {
        return call.Fail("a pivot is out of range");
      }
      lu->factors[i].pivots.push_back(pivot);
    }
  }
  return true;
}

bool ReadFactors(KernelCall& call, const Tensor& data, const Tensor* pivots,
                 LuStack* out) {
  MatrixStack stack;
  if (!ReadMatrices(call, data, false, &stack)) return false;
  *out = {stack.batch, stack.rows, stack.columns, {}};
  for (Matrix& m : stack.matrices)
    out->factors.push_back({std::move(m), {}, 0});
  return pivots == nullptr || ReadPivots(call, *pivots, stack.rows, out);
}

// The unit lower and the upper trapezoid of one matrix.
Matrix LowerOf(const Matrix& lu) {
  const int64_t k = std::min(lu.rows, lu.columns);
  Matrix out(lu.rows, k);
  for (int64_t r = 0; r < lu.rows; ++r) {
    for (int64_t c = 0; c < k; ++c) {
      out.at(r, c) = r == c ? Element(1) : r > c ? lu.at(r, c) : Element(0);
    }
  }
  return out;
}
Matrix UpperOf(const Matrix& lu) {
  const int64_t k = std::min(lu.rows, lu.columns);
  Matrix out(k, lu.columns);
  for (int64_t r = 0; r < k; ++r) {
    for (int64_t c = r; c < lu.columns; ++c) out.at(r, c) = lu.at(r, c);
  }
  return out;
}

bool ReturnUnpacked(KernelCall& call, DType dtype, const LuStack& lu,
                    bool unpacks_data, bool unpacks_pivots) {
  const int64_t k = std::min(lu.rows, lu.columns);
  MatrixStack p{lu.batch, lu.rows, lu.rows, {}}, l{lu.batch, lu.rows, k, {}},
      u{lu.batch, k, lu.columns, {}};
  for (const LuFactors& f : lu.factors) {
    Matrix permutation = Matrix::Identity(lu.rows);
    UndoPivots(f.pivots, &permutation);
    p.matrices.push_back(std::move(permutation));
    l.matrices.push_back(LowerOf(f.lu));
    u.matrices.push_back(UpperOf(f.lu));
  }
  const auto put = [&](const MatrixStack& stack, bool is_wanted) {
    Tensor out = Tensor::Empty(dtype, {0});
    if (is_wanted &&
        !MakeMatrices(call, dtype, stack, MatrixOrder::kRowMajor, &out)) {
      return false;
    }
    call.Return(std::move(out));
    return true;
  };
  return put(p, unpacks_pivots) && put(l, unpacks_data) && put(u, unpacks_data);
}

bool LuUnpack(KernelCall& call) {
  const bool data = call.Bool(2), pivots = call.Bool(3);
  LuStack lu;
  if (!ReadFactors(call, call.tensor(0), pivots ? &call.tensor(1) : nullptr,
                   &lu)) {
    return false;
  }
  return ReturnUnpacked(call, call.tensor(0).dtype(), lu, data, pivots);
}

// --- determinants ---

// The factors whose diagonal makes the determinant.
bool FactorForDeterminant(KernelCall& call, LuStack* out) {
  const Tensor& a = call.tensor(0);
  MatrixStack stack;
  if (!ReadMatrices(call, a, true, &stack)) return false;
  *out = FactorAll(FactorsTranspose(a) ? TransposedAll(stack) : stack, true);
  return true;
}

Element Determinant(const LuFactors& f) {
  Element product = PermutationSign(f.pivots);
  for (int64_t i = 0; i < f.lu.rows; ++i) product *= f.lu.at(i, i);
  return product;
}

// The determinant's sign, or its direction, and the logarithm of its size.
struct SignAndLog {
  Element sign;
  double log = 0;
};
SignAndLog SignAndLogOf(const LuFactors& f) {
  SignAndLog out{PermutationSign(f.pivots), 0};
  for (int64_t i = 0; i < f.lu.rows; ++i) {
    const Element d = f.lu.at(i, i);
    const double size = std::abs(d);
    out.sign *= size == 0 ? Element(0) : d / size;
    out.log += std::log(size);
  }
  return out;
}

template <bool kWithFactors>
bool Det(KernelCall& call) {
  LuStack lu;
  if (!FactorForDeterminant(call, &lu)) return false;
  const DType dtype = call.tensor(0).dtype();
  std::vector<Element> values;
  for (const LuFactors& f : lu.factors) values.push_back(Determinant(f));
  Tensor out;
  if (!MakeValues(call, dtype, lu.batch, values, &out)) return false;
  call.Return(std::move(out));
  return !kWithFactors || (ReturnLu(call, dtype, lu) && ReturnPivots(call, lu));
}

template <bool kWithFactors>
bool SlogDet(KernelCall& call) {
  LuStack lu;
  if (!FactorForDeterminant(call, &lu)) return false;
  const DType dtype = call.tensor(0).dtype();
  std::vector<Element> signs, logs;
  for (const LuFactors& f : lu.factors) {
    const SignAndLog s = SignAndLogOf(f);
    signs.push_back(s.sign);
    logs.emplace_back(s.log);
  }
  Tensor sign, log;
  if (!MakeValues(call, dtype, lu.batch, signs, &sign) ||
      !MakeValues(call, RealDType(dtype), lu.batch, logs, &log)) {
    return false;
  }
  call.Return(std::move(sign));
  call.Return(std::move(log));
  return !kWithFactors || (ReturnLu(call, dtype, lu) && ReturnPivots(call, lu));
}

// NaN for real matrices with a negative determinant.
bool LogDet(KernelCall& call) {
  LuStack lu;
  if (!FactorForDeterminant(call, &lu)) return false;
  const DType dtype = call.tensor(0).dtype();
  std::vector<Element> values;
  for (const LuFactors& f : lu.factors) {
    const SignAndLog s = SignAndLogOf(f);
    if (IsComplex(dtype)) {
      values.push_back(std::log(s.sign) + s.log);
    } else {
      values.emplace_back(
          s.sign.real() < 0 ? std::numeric_limits<double>::quiet_NaN() : s.log);
    }
  }
  Tensor out;
  if (!MakeValues(call, dtype, lu.batch, values, &out)) return false;
  call.Return(std::move(out));
  return true;
}

// --- systems of equations ---

MatrixStack Solved(const LuStack& lu, MatrixStack b) {
  for (size_t i = 0; i < b.matrices.size(); ++i) {
    SolveLu(lu.factors[i], &b.matrices[i]);
  }
  return b;
}

bool Inverse(KernelCall& call, bool checks_errors, bool with_info) {
  const Tensor& a = call.tensor(0);
  MatrixStack stack;
  if (!ReadMatrices(call, a, true, &stack)) return false;
  const LuStack lu = FactorAll(stack, true);
  MatrixStack identity{stack.batch, stack.rows, stack.rows, {}};
  identity.matrices.assign(stack.matrices.size(), Matrix::Identity(stack.rows));
  for (const LuFactors& f : lu.factors) {
    if (checks_errors && f.info != 0) {
      return call.Fail("the matrix is singular: its inverse can't be computed");
    }
  }
  return ReturnMatrices(call, a.dtype(), Solved(lu, std::move(identity))) &&
         (!with_info || ReturnInfo(call, lu, false));
}
bool InvEx(KernelCall& call) { return Inverse(call, call.Bool(1), true); }
bool Inv(KernelCall& call) { return Inverse(call, true, false); }

// Whether B is a vector, or a batch of them, rather than matrices.
bool IsVector(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  if (a.dim() - 1 != b.dim()) return false;
  return std::equal(b.sizes().begin(), b.sizes().end(), a.sizes().begin());
}

// The right side as matrices; columns where it is vectors.
bool ReadRightSide(KernelCall& call, const Tensor& b, bool is_vector,
                   MatrixStack* out) {
  Tensor columns = b;
  if (is_vector) {
    KernelChain chain(call);
    columns = chain("aten.unsqueeze.default", {b, int64_t{-1}});
    if (!chain.ok()) return false;
  }
  return ReadMatrices(call, columns, false, out);
}

// PyTorch lays a batch of vectors out as if it were a matrix of LAPACK's.
Sizes VectorStrides(const Sizes& sizes) {
  Sizes strides = ContiguousStrides(sizes);
  if (sizes.size() < 2) return strides;
  strides[sizes.size() - 2] = 1;
  strides[sizes.size() - 1] = std::max<int64_t>(sizes[sizes.size() - 2], 1);
  return strides;
}

bool ReturnSolution(KernelCall& call, DType dtype, const MatrixStack& x,
                    bool is_vector) {
  Tensor out;
  if (!MakeMatrices(call, dtype, x, MatrixOrder::kColumnMajor, &out)) {
    return false;
  }
  if (is_vector) {
    KernelChain chain(call);
    const Tensor vectors = chain("aten.squeeze.dim", {out, int64_t{-1}});
    if (!chain.ok()) return false;
    out = Tensor::EmptyStrided(dtype, vectors.sizes(),
                               VectorStrides(vectors.sizes()));
    if (!out.defined()) return call.Fail("out of memory");
    out.CopyFrom(vectors);
  }
  call.Return(std::move(out));
  return true;
}

bool Solve(KernelCall& call, bool is_left, bool checks_errors,
           bool with_factors) {
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  const bool is_vector = IsVector(a, b);
  MatrixStack as, bs;
  Sizes batch;
  if (a.dtype() != b.dtype()) return call.Fail("A and B need one dtype");
  if (!is_left && is_vector) return call.Fail("X A = B needs matrices");
  if (!ReadMatrices(call, a, true, &as) ||
      !ReadRightSide(call, b, is_vector, &bs) ||
      !CommonBatch(call, as.batch, bs.batch, &batch)) {
    return false;
  }
  if (!is_left) bs = TransposedAll(bs);
  if (bs.rows != as.rows) return call.Fail("A and B have other sizes");
  if (!ExpandMatrices(call, batch, &bs)) return false;
  // What is returned of the factorisation is of the unexpanded A.
  const LuStack returned =
      FactorAll(FactorsTranspose(a) ? TransposedAll(as) : as, true);
  MatrixStack expanded = is_left ? as : TransposedAll(as);
  if (!ExpandMatrices(call, batch, &expanded)) return false;
  MatrixStack x = Solved(FactorAll(expanded, true), std::move(bs));
  if (!is_left) x = TransposedAll(x);
  for (const LuFactors& f : returned.factors) {
    if (checks_errors && f.info != 0) return call.Fail("A is singular");
  }
  return ReturnSolution(call, a.dtype(), x, is_vector) &&
         (!with_factors ||
          (ReturnLu(call, a.dtype(), returned) &&
           ReturnPivots(call, returned) && ReturnInfo(call, returned, false)));
}
bool SolveEx(KernelCall& call) {
  return Solve(call, call.Bool(2), call.Bool(3), true);
}
bool SolveOnly(KernelCall& call) {
  return Solve(call, call.Bool(2), true, false);
}

// With factors that are there: A X = B, or with the conjugate transpose of A,
// or X A = B.
bool SolveFactored(KernelCall& call, const Tensor& data, const Tensor& pivots,
                   const Tensor& b, bool is_left, bool is_adjoint) {
  LuStack lu;
  MatrixStack bs;
  if (!ReadFactors(call, data, &pivots, &lu) ||
      !ReadMatrices(call, b, false, &bs)) {
    return false;
  }
  if (lu.rows != lu.columns) return call.Fail("the factors have to be square");
  MatrixStack as{lu.batch, lu.rows, lu.rows, {}};
  for (const LuFactors& f : lu.factors) {
    Matrix a = LowerOf(f.lu) * UpperOf(f.lu);
    UndoPivots(f.pivots, &a);
    as.matrices.push_back(is_adjoint ? Conjugated(Transposed(a)) : a);
  }
  Sizes batch;
  if (!CommonBatch(call, as.batch, bs.batch, &batch) ||
      !ExpandMatrices(call, batch, &as) || !ExpandMatrices(call, batch, &bs)) {
    return false;
  }
  if (!is_left) {
    as = TransposedAll(as);
    bs = TransposedAll(bs);
  }
  if (bs.rows != as.rows)
    return call.Fail("the factors and B have other sizes");
  MatrixStack x = Solved(FactorAll(as, true), std::move(bs));
  return ReturnMatrices(call, b.dtype(), is_left ? x : TransposedAll(x));
}
bool LuSolve(KernelCall& call) {
  return SolveFactored(call, call.tensor(1), call.tensor(2), call.tensor(0),
                       true, false);
}
bool LinalgLuSolve(KernelCall& call) {
  return SolveFactored(call, call.tensor(0), call.tensor(1), call.tensor(2),
                       call.Bool(3), call.Bool(4));
}

bool LinalgLu(KernelCall& call) {
  MatrixStack stack;
  if (!ReadMatrices(call, call.tensor(0), false, &stack)) return false;
  return ReturnUnpacked(call, call.tensor(0).dtype(),
                        FactorAll(stack, call.Bool(1)), true, call.Bool(1));
}

constexpr KernelEntry kEntries[] = {
    {"aten._linalg_det.default", &Det<true>},
    {"aten._linalg_slogdet.default", &SlogDet<true>},
    {"aten._linalg_solve_ex.default", &SolveEx},
    {"aten._lu_with_info.default", &LuWithInfo},
    {"aten.det.default", &Det<false>},
    {"aten.inverse.default", &Inv},
    {"aten.linalg_det.default", &Det<false>},
    {"aten.linalg_inv.default", &Inv},
    {"aten.linalg_inv_ex.default", &InvEx},
    {"aten.linalg_lu.default", &LinalgLu},
    {"aten.linalg_lu_factor.default", &LuFactor},
    {"aten.linalg_lu_factor_ex.default", &LuFactorEx},
    {"aten.linalg_lu_solve.default", &LinalgLuSolve},
    {"aten.linalg_slogdet.default", &SlogDet<false>},
    {"aten.linalg_solve.default", &SolveOnly},
    {"aten.logdet.default", &LogDet},
    {"aten.lu_solve.default", &LuSolve},
    {"aten.lu_unpack.default", &LuUnpack},
    {"aten.slogdet.default", &SlogDet<false>},
};

}  // namespace

std::span<const KernelEntry> LinalgSolveKernels() { return kEntries; }

}  // namespace tenon
