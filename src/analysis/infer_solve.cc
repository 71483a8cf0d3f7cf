// Systems of linear equations; both sides share their batch.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// A row's parameter: the positions of the matrix and the right side, and
// whether the matrix comes back, in the batch of both.
constexpr uint32_t P(uint32_t matrix, uint32_t right,
                     bool returns_matrix = false) {
  return matrix | right << 4 | (returns_matrix ? 256u : 0);
}

InferredType& AddSide(InferCall& call, const Type& side, const Type& other) {
  InferredType& out =
      AddBatch(call, side.dtype == other.dtype ? side.dtype : DType::kUnknown,
               side, other);
  if (out.rank < 0) return out;
  out.sizes[out.rank - 2] = SizeAt(side, -2);
  out.sizes[out.rank - 1] = SizeAt(side, -1);
  return out;
}

void Solve(InferCall& call, uint32_t parameter) {
  const Type* a = call.Tensor(parameter & 15);
  const Type* b = call.Tensor(parameter >> 4 & 15);
  if (a == nullptr || b == nullptr || a->rank() < 2 || b->rank() < 2) return;
  AddSide(call, *b, *a);
  if (parameter & 256) AddSide(call, *a, *b);
}

// Whether the right side is one vector per matrix: it has one dimension, or
// the sizes of a batch of them. nullopt: it depends on sizes.
std::optional<bool> IsVector(const Type& a, const Type& b) {
  if (b.rank() == 1) return true;
  if (b.rank() + 1 != a.rank()) return false;
  std::optional<bool> out = true;
  for (int64_t d = 0; d < b.rank(); ++d) {
    const InferredSize x = SizeAt(a, d), y = SizeAt(b, d);
    if (Differ(x, y)) return false;
    if (!AreEqual(x, y)) out = std::nullopt;
  }
  return out;
}

// The solution, then factors, pivots and what went wrong.
void SolveAndFactors(InferCall& call, uint32_t) {
  const Type *a = call.Tensor(0), *b = call.Tensor(1);
  if (a == nullptr || b == nullptr || a->rank() < 2 || b->rank() < 1 ||
      a->rank() > InferredType::kMaxRank) {
    return;
  }
  const auto is_vector = IsVector(*a, *b);
  if (!is_vector) {
    call.AddTensor(b->dtype, -1);
  } else if (*is_vector) {
    Type column = *b;
    column.sizes.push_back(SymInt::Literal(1));
    InferredType& out = AddSide(call, column, *a);
    if (out.rank > 0) --out.rank;
  } else {
    AddSide(call, *b, *a);
  }
  call.AddLike(*a);
  InferredType pivots = KnownType(*a), info = pivots;
  pivots.dtype = info.dtype = DType::kInt32;
  pivots.rank -= 1;
  info.rank -= 2;
  call.Add(pivots);
  call.Add(info);
}

constexpr InferRow kRows[] = {
    {"aten.linalg_solve_triangular.default", Solve, P(0, 1)},
    {"aten.triangular_solve.default", Solve, P(1, 0, true)},
    {"aten.cholesky_solve.default", Solve, P(1, 0)},
    {"aten.lu_solve.default", Solve, P(1, 0)},
    {"aten.linalg_lu_solve.default", Solve, P(0, 2)},
    {"aten._linalg_solve_ex.default", SolveAndFactors},
};

}  // namespace

std::span<const InferRow> SolveRows() { return kRows; }

}  // namespace tenon
