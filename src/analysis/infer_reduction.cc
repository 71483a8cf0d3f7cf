// Reductions, scans, sorts, softmax: dimensions go or stay by argument.
#include "analysis/infer_call.h"

namespace tenon {
namespace {

constexpr uint32_t kNo = 15;

enum Outcome : uint32_t {
  kSame,
  kSum,       // integers and bool become int64
  kTruth,     // bool; uint8 stays
  kIndex,     // int64
  kRealPart,  // complex becomes real
  kFloat,     // integers become float32
};
// What a second result is.
enum Second : uint32_t { kNone, kIndices, kLikeFirst };

// A row's parameter: the positions of dim, keepdim and dtype (kNo = the
// operator has none), the dtype's rule, the second result.
constexpr uint32_t P(uint32_t dim, uint32_t keepdim, uint32_t dtype,
                     Outcome outcome, Second second = kNone) {
  return dim | keepdim << 4 | dtype << 8 | outcome << 12 | second << 16;
}

DType DtypeOf(DType self, uint32_t outcome) {
  const bool is_integer = self == DType::kBool || IsIntegral(self);
  switch (outcome) {
    case kSum:
      return is_integer ? DType::kInt64 : self;
    case kTruth:
      return self == DType::kUInt8 ? self : DType::kBool;
    case kIndex:
      return DType::kInt64;
    case kRealPart:
      return ToReal(self);
    case kFloat:
      return ToFloating(self);
    default:
      return self;
  }
}

DType DtypeOf(const InferCall& call, const Type& self, uint32_t parameter) {
  const uint32_t dtype_at = parameter >> 8 & 15;
  if (dtype_at != kNo) {
    if (const auto dtype = call.Dtype(dtype_at)) return *dtype;
  }
  return DtypeOf(self.dtype, parameter >> 12 & 15);
}

// A floating result of an integer has the default dtype.
void MarkDefault(const Type& self, uint32_t parameter, InferredType* out) {
  out->is_default_dtype = (parameter >> 12 & 15) == kFloat &&
                          out->dtype == DType::kFloat32 &&
                          ToFloating(self.dtype) != self.dtype;
}

void AddSecond(InferCall& call, const InferredType& first, uint32_t parameter) {
  const uint32_t second = parameter >> 16;
  if (second == kNone) return;
  const InferredType copy = first;  // the next call moves it
  InferredType& out = call.AddUnknown();
  out = copy;
  if (second == kIndices) out.dtype = DType::kInt64;
}

// Which dimensions are reduced, as bits; nullopt when that can't be told.
std::optional<uint32_t> ReducedDims(const InferCall& call, size_t dim_at,
                                    int64_t rank, bool empty_is_all) {
  const uint32_t all = (1u << rank) - 1;
  const Arg* dim = call.Get(dim_at);
  if (dim == nullptr || dim->kind == ArgKind::kNone) return all;
  if (rank == 0) return 0;
  if (dim->kind == ArgKind::kInt) {
    const auto d = WrapDim(dim->i, rank);
    return d ? std::optional<uint32_t>(1u << *d) : std::nullopt;
  }
  if (dim->kind != ArgKind::kList) return std::nullopt;
  uint32_t bits = 0;
  for (const Arg& item : call.Items(dim_at)) {
    if (item.kind != ArgKind::kInt) return std::nullopt;
    const auto d = WrapDim(item.i, rank);
    if (!d) return std::nullopt;
    bits |= 1u << *d;
  }
  if (bits != 0) return bits;
  if (!empty_is_all) return std::nullopt;
  return all;
}

void Reduce(InferCall& call, uint32_t parameter) {
  const Type* self = call.Tensor(0);
  if (self == nullptr || self->rank() > InferredType::kMaxRank) return;
  const DType dtype = DtypeOf(call, *self, parameter);
  const uint32_t dim_at = parameter & 15;
  const uint32_t keepdim_at = parameter >> 4 & 15;
  std::optional<uint32_t> reduced = (1u << self->rank()) - 1;
  if (dim_at != kNo) {
    reduced = ReducedDims(call, dim_at, self->rank(),
                          (parameter >> 12 & 15) != kTruth);
  }
  const auto keepdim =
      keepdim_at == kNo ? std::optional<bool>(false) : call.Bool(keepdim_at);
  InferredType& out = call.AddTensor(dtype, 0);
  MarkDefault(*self, parameter, &out);
  if (!reduced || !keepdim) {
    out.rank = -1;
  } else {
    for (int d = 0; d < self->rank(); ++d) {
      const bool is_reduced = *reduced >> d & 1;
      if (is_reduced && !*keepdim) continue;
      out.sizes[out.rank++] = is_reduced ? InferredSize::Literal(1)
                                         : InferredSize::Of(self->sizes[d]);
    }
  }
  AddSecond(call, out, parameter);
}

// Sizes stay: scans, sorts, softmax. `dim` and `keepdim` aren't looked at.
void Scan(InferCall& call, uint32_t parameter) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  InferredType& out = call.AddLike(*self, DtypeOf(call, *self, parameter));
  MarkDefault(*self, parameter, &out);
  AddSecond(call, out, parameter);
}

void Softmax(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const auto half_to_float = call.Bool(2);
  if (self == nullptr || !half_to_float) return;
  call.AddLike(*self, *half_to_float ? DType::kFloat32 : self->dtype);
}

void TopK(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  const auto dim = call.Int(2);
  if (self == nullptr || call.Get(1) == nullptr || !dim) return;
  InferredType& out = call.AddLike(*self);
  if (out.rank > 0) {
    const auto d = WrapDim(*dim, out.rank);
    if (!d) return;
    out.sizes[*d] = call.Size(*call.Get(1));
  }
  AddSecond(call, out, P(kNo, kNo, kNo, kSame, kIndices));
}

void CountNonzero(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self != nullptr) call.AddTensor(DType::kInt64, 0).rank = -1;
}

constexpr InferRow kRows[] = {
    {"aten.sum.default", Reduce, P(kNo, kNo, 1, kSum)},
    {"aten.sum.dim_IntList", Reduce, P(1, 2, 3, kSum)},
    {"aten.nansum.default", Reduce, P(1, 2, 3, kSum)},
    {"aten.prod.default", Reduce, P(kNo, kNo, 1, kSum)},
    {"aten.prod.dim_int", Reduce, P(1, 2, 3, kSum)},
    {"aten.mean.default", Reduce, P(kNo, kNo, 1, kSame)},
    {"aten.mean.dim", Reduce, P(1, 2, 3, kSame)},
    {"aten.any.default", Reduce, P(kNo, kNo, kNo, kTruth)},
    {"aten.any.dim", Reduce, P(1, 2, kNo, kTruth)},
    {"aten.any.dims", Reduce, P(1, 2, kNo, kTruth)},
    {"aten.all.default", Reduce, P(kNo, kNo, kNo, kTruth)},
    {"aten.all.dim", Reduce, P(1, 2, kNo, kTruth)},
    {"aten.all.dims", Reduce, P(1, 2, kNo, kTruth)},
    {"aten.max.default", Reduce, P(kNo, kNo, kNo, kSame)},
    {"aten.min.default", Reduce, P(kNo, kNo, kNo, kSame)},
    {"aten.max.dim", Reduce, P(1, 2, kNo, kSame, kIndices)},
    {"aten.min.dim", Reduce, P(1, 2, kNo, kSame, kIndices)},
    {"aten.amax.default", Reduce, P(1, 2, kNo, kSame)},
    {"aten.amin.default", Reduce, P(1, 2, kNo, kSame)},
    {"aten.aminmax.default", Reduce, P(1, 2, kNo, kSame, kLikeFirst)},
    {"aten.argmax.default", Reduce, P(1, 2, kNo, kIndex)},
    {"aten.argmin.default", Reduce, P(1, 2, kNo, kIndex)},
    {"aten.median.default", Reduce, P(kNo, kNo, kNo, kSame)},
    {"aten.median.dim", Reduce, P(1, 2, kNo, kSame, kIndices)},
    {"aten.var.default", Reduce, P(kNo, kNo, kNo, kRealPart)},
    {"aten.var.dim", Reduce, P(1, 3, kNo, kRealPart)},
    {"aten.var.correction", Reduce, P(1, 3, kNo, kRealPart)},
    {"aten.std.default", Reduce, P(kNo, kNo, kNo, kRealPart)},
    {"aten.std.dim", Reduce, P(1, 3, kNo, kRealPart)},
    {"aten.std.correction", Reduce, P(1, 3, kNo, kRealPart)},
    {"aten.logsumexp.default", Reduce, P(1, 2, kNo, kFloat)},
    {"aten.linalg_vector_norm.default", Reduce, P(2, 3, 4, kRealPart)},
    {"aten.count_nonzero.dim_IntList", CountNonzero},
    {"aten.cumsum.default", Scan, P(kNo, kNo, 2, kSum)},
    {"aten.cumprod.default", Scan, P(kNo, kNo, 2, kSum)},
    {"aten.cummax.default", Scan, P(kNo, kNo, kNo, kSame, kIndices)},
    {"aten.cummin.default", Scan, P(kNo, kNo, kNo, kSame, kIndices)},
    {"aten.sort.default", Scan, P(kNo, kNo, kNo, kSame, kIndices)},
    {"aten.sort.stable", Scan, P(kNo, kNo, kNo, kSame, kIndices)},
    {"aten.argsort.default", Scan, P(kNo, kNo, kNo, kIndex)},
    {"aten.softmax.int", Scan, P(kNo, kNo, 2, kFloat)},
    {"aten.log_softmax.int", Scan, P(kNo, kNo, 2, kFloat)},
    {"aten._softmax.default", Softmax},
    {"aten._log_softmax.default", Softmax},
    {"aten.topk.default", TopK},
};

}  // namespace

std::span<const InferRow> ReductionRows() { return kRows; }

}  // namespace tenon
