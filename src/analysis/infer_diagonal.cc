// Diagonals: taken out, put in, and the triangles beside them.
#include <algorithm>
#include <cstdlib>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// The elements on the diagonal `offset` places above the main one.
InferredSize DiagonalLength(const InferredSize& rows,
                            const InferredSize& columns,
                            std::optional<int64_t> offset) {
  if (!offset || *offset == INT64_MIN) return InferredSize::Unknown();
  const InferredSize length = Smaller(
      Plus(rows, InferredSize::Literal(std::min<int64_t>(*offset, 0))),
      Minus(columns, InferredSize::Literal(std::max<int64_t>(*offset, 0))));
  if (length.is_literal() && length.value < 0) return InferredSize::Literal(0);
  return length;
}

// The two dimensions give way to one, which stands last.
void AddDiagonal(InferCall& call, const Type& self,
                 std::optional<int64_t> offset, int64_t dim1, int64_t dim2) {
  const auto a = WrapDim(dim1, self.rank()), b = WrapDim(dim2, self.rank());
  if (!a || !b || *a == *b) return;
  InferredType& out = call.AddTensor(self.dtype, 0);
  for (int d = 0; d < self.rank(); ++d) {
    if (d != *a && d != *b) out.sizes[out.rank++] = SizeAt(self, d);
  }
  out.sizes[out.rank++] =
      DiagonalLength(SizeAt(self, *a), SizeAt(self, *b), offset);
}

void Diagonal(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim1 = call.Int(2), dim2 = call.Int(3);
  if (self != nullptr && dim1 && dim2) {
    AddDiagonal(call, *self, call.Int(1), *dim1, *dim2);
  }
}

// Room for a diagonal of `length` elements.
InferredSize SquareFor(const InferredSize& length,
                       std::optional<int64_t> offset) {
  if (!offset || *offset == INT64_MIN) return InferredSize::Unknown();
  return Plus(length, InferredSize::Literal(std::abs(*offset)));
}

// The last dimension becomes the diagonal of two others.
void DiagEmbed(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  const auto dim1 = call.Int(2), dim2 = call.Int(3);
  if (self == nullptr || self->rank() < 1 ||
      self->rank() >= InferredType::kMaxRank || !dim1 || !dim2) {
    return;
  }
  const int rank = static_cast<int>(self->rank()) + 1;
  const auto a = WrapDim(*dim1, rank), b = WrapDim(*dim2, rank);
  if (!a || !b || *a == *b) return;
  InferredType& out = call.AddTensor(self->dtype, rank);
  int next = 0;
  for (int d = 0; d < rank; ++d) {
    out.sizes[d] = d == *a || d == *b
                       ? SquareFor(SizeAt(*self, -1), call.Int(1))
                       : SizeAt(*self, next++);
  }
}

void AddSquare(InferCall& call, DType dtype, const InferredSize& size) {
  InferredType& out = call.AddTensor(dtype, 2);
  out.sizes[0] = out.sizes[1] = size;
}

// Of a vector a matrix, of a matrix its diagonal.
void Diag(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr) return;
  if (self->rank() == 1) {
    AddSquare(call, self->dtype, SquareFor(SizeAt(*self, 0), call.Int(1)));
  } else if (self->rank() == 2) {
    AddDiagonal(call, *self, call.Int(1), 0, 1);
  }
}

void DiagFlat(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr) return;
  AddSquare(call, self->dtype,
            SquareFor(NumElements(*self).AsSize(), call.Int(1)));
}

// Indices of a triangle's elements: rows and columns.
enum Triangle : uint32_t { kLower, kUpper };

void TriangleIndices(InferCall& call, uint32_t triangle) {
  const auto rows = call.Int(0), columns = call.Int(1), offset = call.Int(2);
  const auto dtype = call.Dtype(3);
  InferredType& out = call.AddTensor(dtype.value_or(DType::kInt64), 2);
  out.sizes[0] = InferredSize::Literal(2);
  constexpr int64_t kSmall = 1 << 16;
  if (!rows || !columns || !offset || *rows < 0 || *rows > kSmall ||
      *columns < 0 || *columns > kSmall || std::abs(*offset) > 2 * kSmall) {
    return;
  }
  int64_t lower = 0;  // elements below the upper triangle, or of the lower one
  for (int64_t r = 0; r < *rows; ++r) {
    const int64_t end = r + *offset + (triangle == kLower ? 1 : 0);
    lower += std::clamp<int64_t>(end, 0, *columns);
  }
  out.sizes[1] = InferredSize::Literal(
      triangle == kLower ? lower : *rows * *columns - lower);
}

constexpr InferRow kRows[] = {
    {"aten.diagonal.default", Diagonal},
    {"aten.diagonal_copy.default", Diagonal},
    {"aten.diag_embed.default", DiagEmbed},
    {"aten.diag.default", Diag},
    {"aten.diagflat.default", DiagFlat},
    {"aten.tril.default", LikeArguments, LikeArg(0)},
    {"aten.triu.default", LikeArguments, LikeArg(0)},
    {"aten.tril_indices.default", TriangleIndices, kLower},
    {"aten.triu_indices.default", TriangleIndices, kUpper},
};

}  // namespace

std::span<const InferRow> DiagonalRows() { return kRows; }

}  // namespace tenon
