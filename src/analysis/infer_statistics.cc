// Quantiles, histograms, covariances, integrals: what looks at all elements
// along a dimension, with shapes of its own.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// The type of self without dimension `dim`, or with 1 in its place; without any
// where there is no dim.
std::optional<InferredType> Reduced(const InferCall& call, size_t dim_at,
                                    size_t keepdim_at) {
  const Type* self = call.Self();
  const auto keepdim = call.Bool(keepdim_at);
  if (self == nullptr || !keepdim) return std::nullopt;
  const bool is_all = !call.Has(dim_at);
  const auto dim = call.Int(dim_at);
  if (!is_all && !dim) return std::nullopt;
  const auto d = is_all || self->rank() == 0 ? std::optional<int>(-1)
                                             : WrapDim(*dim, self->rank());
  if (!d) return std::nullopt;
  InferredType out = KnownType(*self);
  out.rank = 0;
  for (int i = 0; i < self->rank(); ++i) {
    const bool is_reduced = is_all || i == *d;
    if (is_reduced && !*keepdim) continue;
    out.sizes[out.rank++] =
        is_reduced ? InferredSize::Literal(1) : SizeAt(*self, i);
  }
  return out;
}

// One value per quantile, in a first dimension where they are a vector.
void Quantile(InferCall& call, uint32_t) {
  const auto reduced = Reduced(call, 2, 3);
  if (!reduced) return;
  const Type* q = call.Tensor(1);
  InferredType& out = call.Add(*reduced);
  if (q == nullptr || q->rank() == 0) return;
  if (out.rank >= InferredType::kMaxRank || q->rank() != 1) {
    out.rank = -1;
    return;
  }
  for (int d = out.rank; d > 0; --d) out.sizes[d] = out.sizes[d - 1];
  out.sizes[0] = SizeAt(*q, 0);
  ++out.rank;
}

InferredType& AddVector(InferCall& call, DType dtype,
                        const InferredSize& size) {
  InferredType& out = call.AddTensor(dtype, 1);
  out.sizes[0] = size;
  return out;
}

InferredSize BinsOf(const InferCall& call, size_t i) {
  const Arg* a = call.Get(i);
  if (a != nullptr) return call.Size(*a);
  const auto bins = call.Int(i);
  return bins ? InferredSize::Literal(*bins) : InferredSize::Unknown();
}

void CountInBins(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self != nullptr) AddVector(call, self->dtype, BinsOf(call, 1));
}

// Counts, and one edge more than there are bins; bins may be given by edges.
void Histogram(InferCall& call, uint32_t) {
  const Type *self = call.Tensor(0), *edges = call.Tensor(1);
  const InferredSize one = InferredSize::Literal(1);
  if (self == nullptr) return;
  if (edges != nullptr && edges->rank() == 1) {
    AddVector(call, self->dtype, Minus(SizeAt(*edges, 0), one));
    call.AddLike(*edges);
  } else if (edges == nullptr) {
    const InferredSize bins = BinsOf(call, 1);
    AddVector(call, self->dtype, bins);
    AddVector(call, self->dtype, Plus(bins, one));
  }
}

// The same with bins per dimension: counts, edges, or both.
enum GridParts : uint32_t { kCounts = 1, kEdges = 2 };

void HistogramGrid(InferCall& call, uint32_t parts) {
  const Type* self = call.Tensor(0);
  const auto items = call.Items(1);
  const InferredSize one = InferredSize::Literal(1);
  if (self == nullptr || items.empty() ||
      items.size() > InferredType::kMaxRank) {
    return;
  }
  std::vector<InferredSize> bins;
  for (const Arg& item : items) {
    const Type* edges = call.TensorOf(&item);
    if (edges != nullptr && edges->rank() != 1) return;
    bins.push_back(edges != nullptr ? Minus(SizeAt(*edges, 0), one)
                                    : call.Size(item));
  }
  if (parts & kCounts) {
    InferredType& out =
        call.AddTensor(self->dtype, static_cast<int>(bins.size()));
    for (size_t d = 0; d < bins.size(); ++d) out.sizes[d] = bins[d];
  }
  if (!(parts & kEdges)) return;
  for (size_t d = 0; d < bins.size(); ++d) {
    const Type* edges = call.TensorOf(&items[d]);
    if (edges != nullptr) {
      call.AddLike(*edges);
    } else {
      AddVector(call, self->dtype, Plus(bins[d], one));
    }
  }
}

// As many as the largest value: the data's secret.
void BinCount(InferCall& call, uint32_t) {
  const Type* self = call.Tensor(0);
  if (self == nullptr) return;
  // Meta functions of older PyTorch give the dtype of self.
  const bool is_counted = !call.Has(1) && self->dtype == DType::kInt64;
  AddVector(call, is_counted ? DType::kInt64 : DType::kUnknown,
            InferredSize::Unknown());
}

// A square over the rows; of a single row its number.
void Covariance(InferCall& call, uint32_t) {
  const Type* self = call.Self();
  if (self == nullptr || self->rank() > 2) return;
  DType dtype = self->dtype;
  for (const size_t at : {size_t{2}, size_t{3}}) {
    const Type* weights = call.Tensor(at);
    if (weights != nullptr) dtype = PromoteDTypes(dtype, weights->dtype);
  }
  InferredType& out = call.AddTensor(ToFloating(dtype), 0);
  out.is_default_dtype = out.dtype != dtype;
  if (self->rank() < 2 || self->sizes[0] == SymInt::Literal(1)) return;
  out.rank = self->sizes[0].is_literal() ? 2 : -1;
  if (out.rank == 2) out.sizes[0] = out.sizes[1] = SizeAt(*self, 0);
}

constexpr InferRow kRows[] = {
    {"aten.quantile.default", Quantile},
    {"aten.quantile.scalar", Quantile},
    {"aten.nanquantile.default", Quantile},
    {"aten.nanquantile.scalar", Quantile},
    {"aten.histc.default", CountInBins},
    {"aten.histogram.bin_ct", Histogram},
    {"aten.histogram.bins_tensor", Histogram},
    {"aten.histogramdd.default", HistogramGrid, kCounts | kEdges},
    {"aten.histogramdd.TensorList_bins", HistogramGrid, kCounts | kEdges},
    {"aten._histogramdd_from_bin_tensors.default", HistogramGrid, kCounts},
    {"aten._histogramdd_from_bin_cts.default", HistogramGrid, kCounts},
    {"aten._histogramdd_bin_edges.default", HistogramGrid, kEdges},
    {"aten.bincount.default", BinCount},
    {"aten.cov.default", Covariance},
    {"aten.corrcoef.default", Covariance},
};

}  // namespace

std::span<const InferRow> StatisticsRows() { return kRows; }

}  // namespace tenon
