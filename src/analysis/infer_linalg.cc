// Matrices and their factors; leading dimensions are a batch.
#include <initializer_list>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// A matrix, or a batch of them.
const Type* Matrix(const InferCall& call, size_t i = 0) {
  const Type* t = call.Tensor(i);
  return t != nullptr && t->rank() >= 2 && t->rank() <= InferredType::kMaxRank
             ? t
             : nullptr;
}

InferredSize Rows(const Type& t) { return SizeAt(t, -2); }
InferredSize Columns(const Type& t) { return SizeAt(t, -1); }
InferredSize Rank(const Type& t) { return Smaller(Rows(t), Columns(t)); }

// The batch of `t`, then what is given.
InferredType& AddBatched(InferCall& call, const Type& t, DType dtype,
                         std::initializer_list<InferredSize> last) {
  InferredType& out = call.AddTensor(dtype, static_cast<int>(t.rank()) - 2);
  for (int d = 0; d < out.rank; ++d) out.sizes[d] = SizeAt(t, d);
  for (const InferredSize& s : last) out.sizes[out.rank++] = s;
  return out;
}

// A result that wasn't asked for is an empty vector.
void AddEmpty(InferCall& call, DType dtype) {
  call.AddTensor(dtype, 1).sizes[0] = InferredSize::Literal(0);
}

// A result of the shape, or an empty one; unknown where it can't be told.
void AddIf(InferCall& call, std::optional<bool> wanted, const Type& t,
           const InferredSize& rows, const InferredSize& columns) {
  if (!wanted) {
    call.AddTensor(t.dtype, -1);
  } else if (*wanted) {
    AddBatched(call, t, t.dtype, {rows, columns});
  } else {
    AddEmpty(call, t.dtype);
  }
}

// What a parameter that says which results are wanted makes of a size.
InferredSize Either(std::optional<bool> flag, const InferredSize& if_true,
                    const InferredSize& if_false) {
  if (flag) return *flag ? if_true : if_false;
  return AreEqual(if_true, if_false) ? if_true : InferredSize::Unknown();
}

// U, the singular values, and V or its transpose.
enum SvdForm : uint32_t { kSvd, kReducedSvd, kInnerSvd };

void SingularValues(InferCall& call, uint32_t form) {
  const Type* a = Matrix(call);
  if (a == nullptr) return;
  // svd's flag asks for the reduced form, the others' for the full one.
  auto is_full = call.Bool(1);
  if (is_full && form == kReducedSvd) is_full = !*is_full;
  const auto wanted = form == kSvd ? std::optional<bool>(true) : call.Bool(2);
  const InferredSize m = Rows(*a), n = Columns(*a), k = Rank(*a);
  const InferredSize left = Either(is_full, m, k),
                     right = Either(is_full, n, k);
  if (form == kReducedSvd) {
    // Without vectors these are zeros, of full size.
    const bool is_said = wanted.has_value();
    const bool is_there = wanted.value_or(false);
    const InferredSize unknown = InferredSize::Unknown();
    AddBatched(call, *a, a->dtype,
               {m, !is_said   ? unknown
                   : is_there ? left
                              : m});
    AddBatched(call, *a, ToReal(a->dtype), {k});
    AddBatched(call, *a, a->dtype,
               {n, !is_said   ? unknown
                   : is_there ? right
                              : n});
    return;
  }
  AddIf(call, wanted, *a, m, left);
  AddBatched(call, *a, ToReal(a->dtype), {k});
  AddIf(call, wanted, *a, right, n);
}

void OrthogonalFactors(InferCall& call, uint32_t) {
  const Type* a = Matrix(call);
  const auto mode = call.Text(1);
  if (a == nullptr || !mode) return;
  const InferredSize m = Rows(*a), n = Columns(*a), k = Rank(*a);
  const InferredSize inner = mode == "complete" ? m : k;
  AddIf(call, mode != "r", *a, m, inner);
  AddBatched(call, *a, a->dtype, {inner, n});
}

void Eigen(InferCall& call, uint32_t vectors_at) {
  const Type* a = Matrix(call);
  if (a == nullptr) return;
  AddBatched(call, *a, ToReal(a->dtype), {Columns(*a)});
  const auto wanted =
      vectors_at == 0 ? std::optional<bool>(true) : call.Bool(vectors_at);
  AddIf(call, wanted, *a, Rows(*a), Columns(*a));
}

// The results of an operator over matrices, each one of these.
enum Result : uint32_t {
  kNothing,
  kLikeMatrix,
  kTransposed,
  kNumber,  // one per matrix
  kRealNumber,
  kInfo,        // int32, one per matrix
  kPivots,      // int32, as many as the rank
  kReflectors,  // as many as the rank
};
constexpr uint32_t Results(Result a, Result b = kNothing, Result c = kNothing,
                           Result d = kNothing) {
  return a | static_cast<uint32_t>(b) << 4 | static_cast<uint32_t>(c) << 8 |
         static_cast<uint32_t>(d) << 12;
}

void AddResult(InferCall& call, const Type& a, Result result) {
  switch (result) {
    case kNothing:
      return;
    case kLikeMatrix:
      call.AddLike(a);
      return;
    case kTransposed:
      AddBatched(call, a, a.dtype, {Columns(a), Rows(a)});
      return;
    case kNumber:
      AddBatched(call, a, a.dtype, {});
      return;
    case kRealNumber:
      AddBatched(call, a, ToReal(a.dtype), {});
      return;
    case kInfo:
      AddBatched(call, a, DType::kInt32, {});
      return;
    case kPivots:
      AddBatched(call, a, DType::kInt32, {Rank(a)});
      return;
    case kReflectors:
      AddBatched(call, a, a.dtype, {Rank(a)});
      return;
  }
}

void OfMatrix(InferCall& call, uint32_t results) {
  const Type* a = Matrix(call);
  if (a == nullptr) return;
  for (int i = 0; i < 4; ++i) {
    AddResult(call, *a, static_cast<Result>(results >> 4 * i & 15));
  }
}

// The permutation, and the lower and upper factor.
void UnpackFactors(InferCall& call, uint32_t) {
  const Type* a = Matrix(call);
  const auto data = call.Bool(2), pivots = call.Bool(3);
  if (a == nullptr) return;
  const InferredSize m = Rows(*a), n = Columns(*a), k = Rank(*a);
  AddIf(call, pivots, *a, m, m);
  AddIf(call, data, *a, m, k);
  AddIf(call, data, *a, k, n);
}

constexpr InferRow kRows[] = {
    {"aten.linalg_svd.default", SingularValues, kSvd},
    {"aten._linalg_svd.default", SingularValues, kInnerSvd},
    {"aten.svd.default", SingularValues, kReducedSvd},
    {"aten.linalg_qr.default", OrthogonalFactors},
    {"aten.linalg_eigh.default", Eigen, 0},
    {"aten._linalg_eigh.default", Eigen, 2},
    {"aten.lu_unpack.default", UnpackFactors},
    {"aten.linalg_lu_factor_ex.default", OfMatrix,
     Results(kLikeMatrix, kPivots, kInfo)},
    {"aten._lu_with_info.default", OfMatrix,
     Results(kLikeMatrix, kPivots, kInfo)},
    {"aten.linalg_inv_ex.default", OfMatrix, Results(kLikeMatrix, kInfo)},
    {"aten.linalg_cholesky_ex.default", OfMatrix, Results(kLikeMatrix, kInfo)},
    {"aten.linalg_det.default", OfMatrix, Results(kNumber)},
    {"aten.logdet.default", OfMatrix, Results(kNumber)},
    {"aten._linalg_det.default", OfMatrix,
     Results(kNumber, kLikeMatrix, kPivots)},
    {"aten._linalg_slogdet.default", OfMatrix,
     Results(kNumber, kRealNumber, kLikeMatrix, kPivots)},
    {"aten.geqrf.default", OfMatrix, Results(kLikeMatrix, kReflectors)},
    {"aten.pinverse.default", OfMatrix, Results(kTransposed)},
    {"aten.linalg_pinv.atol_rtol_tensor", OfMatrix, Results(kTransposed)},
    {"aten.cholesky_inverse.default", OfMatrix, Results(kLikeMatrix)},
    {"aten.matrix_exp.default", OfMatrix, Results(kLikeMatrix)},
    {"aten.linalg_matrix_exp.default", OfMatrix, Results(kLikeMatrix)},
    {"aten.ormqr.default", LikeArguments, LikeArg(2)},
};

}  // namespace

std::span<const InferRow> LinalgRows() { return kRows; }

}  // namespace tenon
