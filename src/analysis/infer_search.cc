// Where elements are, which differ, how many: sizes that depend on values are
// left open.
#include <algorithm>

#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// One row of indices for each element that isn't zero.
void Nonzero(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  InferredType& out = call.AddTensor(DType::kInt64, 2);
  if (self != nullptr) out.sizes[1] = InferredSize::Literal(self->rank());
}

// As many rows as argument `parameter` says.
void NonzeroStatic(InferCall& call, uint32_t parameter) {
  if (call.Get(parameter) == nullptr) return;
  Nonzero(call, 0);
  call.last().sizes[0] = call.Size(*call.Get(parameter));
}

// A vector for each dimension; a number counts as a vector of one.
void NonzeroPerDim(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  const int64_t count = std::max<int64_t>(self->rank(), 1);
  for (int64_t d = 0; d < count && d < call.num_results(); ++d) {
    call.AddTensor(DType::kInt64, 1);
  }
}

void MaskedSelect(InferCall& call, uint32_t) {
  if (const Type* self = call.Tensor(0)) call.AddTensor(self->dtype, 1);
}

// The dtype of indices and counts: older meta functions give that of self.
DType CountDType(const Type& self) {
  return self.dtype == DType::kInt64 ? DType::kInt64 : DType::kUnknown;
}

// How often each comes; empty when not asked for.
void AddCounts(InferCall& call, const Type& self, std::optional<bool> wanted) {
  InferredType& out = call.AddTensor(CountDType(self), 1);
  if (wanted == false) out.sizes[0] = InferredSize::Literal(0);
}

// For each element of self, or each slice along `dim`, which of the values that
// differ it is.
void AddInverse(InferCall& call, const Type& self, std::optional<int> dim,
                std::optional<bool> wanted) {
  if (!wanted) {
    call.AddTensor(CountDType(self), -1);
  } else if (!*wanted) {
    AddCounts(call, self, false);
  } else if (dim) {
    call.AddTensor(CountDType(self), 1).sizes[0] = SizeAt(self, *dim);
  } else {
    call.AddLike(self, CountDType(self));
  }
}

// A row's parameter: positions of return_inverse, return_counts and dim.
constexpr uint32_t kNo = 15;
constexpr uint32_t P(uint32_t inverse, uint32_t counts, uint32_t dim) {
  return inverse | counts << 4 | dim << 8;
}

void Unique(InferCall& call, uint32_t parameter) {
  const Type* self = call.Self();
  const uint32_t inverse = parameter & 15, counts = parameter >> 4 & 15;
  const uint32_t dim_at = parameter >> 8;
  if (self == nullptr) return;
  const bool is_flat = dim_at == kNo || !call.Has(dim_at);
  // Along a dimension the CPU gives them asked or unasked; but a vector's only
  // dimension is none to the kernel.
  const bool is_vector = self->rank() == 1;
  const bool is_always = !is_flat && call.IsOnCpu(*self);
  const auto wants = [&](uint32_t at) {
    const auto wanted = call.Bool(at);
    if (is_always && is_vector && wanted == false) {
      return std::optional<bool>();
    }
    return is_always ? std::optional<bool>(true) : wanted;
  };
  if (is_flat) {
    call.AddTensor(self->dtype, 1);
    AddInverse(call, *self, std::nullopt, wants(inverse));
  } else {
    const auto dim = call.Int(dim_at);
    const auto d = dim ? WrapDim(*dim, self->rank()) : std::nullopt;
    InferredType& out = call.AddLike(*self);
    if (!d) {
      out.rank = -1;
      return;
    }
    out.sizes[*d] = InferredSize::Unknown();
    // PyTorch's meta function takes a negative dimension for another.
    if (*dim < 0) out.rank = -1;
    AddInverse(call, *self, d, wants(inverse));
  }
  if (counts != kNo) AddCounts(call, *self, wants(counts));
}

// As many classes as argument 1 says; -1: one more than the largest.
void OneHot(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr || self->rank() >= InferredType::kMaxRank) return;
  InferredType& out = call.AddLike(*self, DType::kInt64);
  InferredSize& classes = out.sizes[out.rank++];
  classes = call.Get(1) == nullptr ? InferredSize::Unknown()
                                   : call.Size(*call.Get(1));
  if (classes.is_literal(-1)) classes = InferredSize::Unknown();
}

void IsIn(InferCall& call, uint32_t) {
  const Type* elements = call.Tensor(0);
  if (elements != nullptr) call.AddLike(*elements, DType::kBool);
}

// The place of each value among boundaries. `parameter`: where values stand.
void Bucketize(InferCall& call, uint32_t parameter) {
  const auto out_int32 = call.Bool(2);
  const Arg* values = call.Get(parameter);
  if (values == nullptr || !out_int32) return;
  const DType dtype = *out_int32 ? DType::kInt32 : DType::kInt64;
  const Type* input = call.TensorOf(values);
  if (input != nullptr) {
    call.AddLike(*input, dtype);
  } else {
    call.AddTensor(dtype, 0);
  }
}

constexpr InferRow kRows[] = {
    {"aten.nonzero.default", Nonzero},
    {"aten.argwhere.default", Nonzero},
    {"aten.nonzero_static.default", NonzeroStatic, 1},
    {"aten.nonzero_numpy.default", NonzeroPerDim},
    {"aten.masked_select.default", MaskedSelect},
    {"aten._unique.default", Unique, P(2, kNo, kNo)},
    {"aten._unique2.default", Unique, P(2, 3, kNo)},
    {"aten.unique_consecutive.default", Unique, P(1, 2, 3)},
    {"aten.unique_dim.default", Unique, P(3, 4, 1)},
    {"aten.unique_dim_consecutive.default", Unique, P(2, 3, 1)},
    {"aten.one_hot.default", OneHot},
    {"aten.isin.Tensor_Tensor", IsIn},
    {"aten.isin.Tensor_Scalar", IsIn},
    {"aten.bucketize.Tensor", Bucketize, 0},
    {"aten.bucketize.Scalar", Bucketize, 0},
    {"aten.searchsorted.Tensor", Bucketize, 1},
    {"aten.searchsorted.Scalar", Bucketize, 1},
};

}  // namespace

std::span<const InferRow> SearchRows() { return kRows; }

}  // namespace tenon
