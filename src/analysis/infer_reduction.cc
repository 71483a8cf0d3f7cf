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
  kHash,      // uint64
};
// What a second result is.
// kMean: with the dtype of the operand.
enum Second : uint32_t { kNone, kIndices, kLikeFirst, kMean };

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
    case kHash:
      return DType::kUInt64;
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

void AddSecond(InferCall& call, const Type& self, const InferredType& first,
               uint32_t parameter) {
  const uint32_t second = parameter >> 16;
  if (second == kNone) return;
  InferredType& out = call.Add(first);
  if (second == kIndices) out.dtype = DType::kInt64;
  if (second == kMean) out.dtype = self.dtype;
}

// Which dimensions are reduced, as bits; nullopt when that can't be told. None
// means all, and so does an empty list, but for any and all of several.
std::optional<uint32_t> ReducedDims(const InferCall& call, size_t dim_at,
                                    int64_t rank, bool empty_is_all) {
  const uint32_t all = (1u << rank) - 1;
  const auto dims = call.Ints(dim_at);
  if (!dims) {
    // Meta functions of older PyTorch reduce none for any and all, too.
    const bool is_none = !call.Has(dim_at) && empty_is_all;
    return is_none ? std::optional<uint32_t>(all) : std::nullopt;
  }
  if (rank == 0) return 0;
  if (dims->empty()) return empty_is_all ? all : 0;
  uint32_t bits = 0;
  for (const int64_t dim : *dims) {
    const auto d = WrapDim(dim, rank);
    if (!d) return std::nullopt;
    bits |= 1u << *d;
  }
  return bits;
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
  AddSecond(call, *self, out, parameter);
}

// An empty list means all to kernels, none to meta functions of older PyTorch.
void ReduceButNone(InferCall& call, uint32_t parameter) {
  Reduce(call, parameter);
  const auto dims = call.Ints(parameter & 15);
  if (call.num_added() == 0 || call.Tensor(0)->rank() == 0) return;
  if (dims && dims->empty()) call.last().rank = -1;
}

// Sizes stay: scans, sorts, softmax. `dim` and `keepdim` aren't looked at.
void Scan(InferCall& call, uint32_t parameter) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  InferredType& out = call.AddLike(*self, DtypeOf(call, *self, parameter));
  MarkDefault(*self, parameter, &out);
  AddSecond(call, *self, out, parameter);
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
  AddSecond(call, *self, out, P(kNo, kNo, kNo, kSame, kIndices));
}

constexpr InferRow kRows[] = {
    {"aten.sum.default", Reduce, P(kNo, kNo, 1, kSum)},
    {"aten.sum.dim_IntList", Reduce, P(1, 2, 3, kSum)},
    {"aten.nansum.default", ReduceButNone, P(1, 2, 3, kSum)},
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
    {"aten.cumsum.default", Scan, P(kNo, kNo, 2, kSum)},
    {"aten.cumprod.default", Scan, P(kNo, kNo, 2, kSum)},
    {"aten.cummax.default", Scan, P(kNo, kNo, kNo, kSame, kIndices)},
    {"aten.cummin.default", Scan, P(kNo, kNo, kNo, kSame, kIndices)},
    {"aten.sort.default", Scan, P(kNo, kNo, kNo, kSame, kIndices)},
    {"aten.sort.stable", Scan, P(kNo, kNo, kNo, kSame, kIndices)},
    {"aten.argsort.default", Scan, P(kNo, kNo, kNo, kIndex)},
    {"aten.softmax.int", Scan, P(kNo, kNo, 2, kSame)},
    {"aten.log_softmax.int", Scan, P(kNo, kNo, 2, kSame)},
    {"aten._softmax.default", Softmax},
    {"aten._log_softmax.default", Softmax},
    {"aten.topk.default", TopK},
    {"aten.count_nonzero.dim_IntList", Reduce, P(1, kNo, kNo, kIndex)},
    {"aten.count_nonzero.default", Reduce, P(1, kNo, kNo, kIndex)},
    {"aten.nanmean.default", ReduceButNone, P(1, 2, 3, kSame)},
    {"aten.nanmedian.default", Reduce, P(kNo, kNo, kNo, kSame)},
    {"aten.nanmedian.dim", Reduce, P(1, 2, kNo, kSame, kIndices)},
    {"aten.mode.default", Reduce, P(1, 2, kNo, kSame, kIndices)},
    {"aten.kthvalue.default", Reduce, P(2, 3, kNo, kSame, kIndices)},
    {"aten.var_mean.default", Reduce, P(kNo, kNo, kNo, kRealPart, kMean)},
    {"aten.var_mean.dim", Reduce, P(1, 3, kNo, kRealPart, kMean)},
    {"aten.var_mean.correction", Reduce, P(1, 3, kNo, kRealPart, kMean)},
    {"aten.std_mean.default", Reduce, P(kNo, kNo, kNo, kRealPart, kMean)},
    {"aten.std_mean.dim", Reduce, P(1, 3, kNo, kRealPart, kMean)},
    {"aten.std_mean.correction", Reduce, P(1, 3, kNo, kRealPart, kMean)},
    {"aten.norm.ScalarOpt_dim", Reduce, P(2, 3, kNo, kRealPart)},
    {"aten.linalg_matrix_norm.str_ord", Reduce, P(2, 3, 4, kRealPart)},
    {"aten.hash_tensor.default", Reduce, P(1, 2, kNo, kHash)},
    {"aten.trace.default", Reduce, P(kNo, kNo, kNo, kSum)},
    {"aten.msort.default", Scan, P(kNo, kNo, kNo, kSame)},
    {"aten.argsort.stable", Scan, P(kNo, kNo, kNo, kIndex)},
    {"aten.logcumsumexp.default", Scan, P(kNo, kNo, kNo, kSame)},
    {"aten._safe_softmax.default", Scan, P(kNo, kNo, 2, kSame)},
    {"aten.renorm.default", Scan, P(kNo, kNo, kNo, kSame)},
};

}  // namespace

std::span<const InferRow> ReductionRows() { return kRows; }

}  // namespace tenon
