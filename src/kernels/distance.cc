// Distances between rows: cdist, pdist, pairwise_distance, cosine_similarity.
#include <algorithm>
#include <cmath>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// The p-norm of a - b; p = 0 counts what differs.
double Distance(const double* a, const double* b, int64_t width, double p) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) {
    const double d = std::abs(a[i] - b[i]);
    if (p == 0) {
      sum += d != 0 ? 1 : 0;
    } else if (std::isinf(p)) {
      sum = std::isnan(d) || d > sum ? d : sum;
    } else if (p == 1) {
      sum += d;
    } else {
      sum += std::pow(d, p);
    }
  }
  if (p == 0 || p == 1 || std::isinf(p)) return sum;
  return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

bool CdistRows(KernelCall& call, double p) {
  const Tensor &x1 = call.tensor(0), &x2 = call.tensor(1);
  if (x1.dim() < 2 || x2.dim() < 2 || !IsFloating(x1.dtype()) ||
      x1.dtype() != x2.dtype() || x1.sizes().back() != x2.sizes().back()) {
    return call.Fail("cdist: " + x1.ToString() + " and " + x2.ToString());
  }
  if (!(p >= 0)) return call.Fail("cdist: p must not be negative");
  Sizes batch;
  if (!BroadcastSizes(Sizes(x1.sizes().begin(), x1.sizes().end() - 2),
                      Sizes(x2.sizes().begin(), x2.sizes().end() - 2),
                      &batch)) {
    return call.Fail("cdist: batch dimensions do not broadcast");
  }
  const int64_t width = x1.sizes().back();
  const int64_t rows = x1.size(x1.dim() - 2), columns = x2.size(x2.dim() - 2);
  Sizes sizes1 = batch, sizes2 = batch, sizes = batch;
  sizes1.insert(sizes1.end(), {rows, width});
  sizes2.insert(sizes2.end(), {columns, width});
  sizes.insert(sizes.end(), {rows, columns});
  Tensor out;
  if (!CheckSizes(call, sizes) || !CheckSizes(call, sizes1) ||
      !CheckSizes(call, sizes2) || !Allocate(call, x1.dtype(), sizes, &out)) {
    return false;
  }
  const std::vector<double> a = ReadAll<double>(ExpandTo(x1, sizes1));
  const std::vector<double> b = ReadAll<double>(ExpandTo(x2, sizes2));
  std::vector<double> values;
  const int64_t count = NumElements(batch);
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        values.push_back(Distance(a.data() + (n * rows + i) * width,
                                  b.data() + (n * columns + j) * width, width,
                                  p));
      }
    }
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

bool Cdist(KernelCall& call) { return CdistRows(call, call.Float(2)); }
bool EuclideanDist(KernelCall& call) { return CdistRows(call, 2.0); }

// The distances of all pairs of rows i < j.
bool Pdist(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const double p = call.Float(1);
  if (self.dim() != 2 || !IsFloating(self.dtype())) {
    return call.Fail("pdist: expected a floating matrix, found " +
                     self.ToString());
  }
  if (!(p >= 0)) return call.Fail("pdist: p must not be negative");
  const int64_t rows = self.size(0), width = self.size(1);
  if (!CheckSizes(call, {rows, rows})) return false;
  Tensor out;
  const int64_t pairs = rows > 0 ? rows * (rows - 1) / 2 : 0;
  if (!Allocate(call, self.dtype(), {pairs}, &out)) return false;
  const std::vector<double> x = ReadAll<double>(self);
  std::vector<double> values;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i + 1; j < rows; ++j) {
      values.push_back(
          Distance(x.data() + i * width, x.data() + j * width, width, p));
    }
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

// The norm of x1 - x2 + eps over the last dimension.
bool PairwiseDistance(KernelCall& call) {
  Tensor difference, shifted;
  const Tensor &x1 = call.tensor(0), &x2 = call.tensor(1);
  const int64_t last = std::max(x1.dim(), x2.dim()) - 1;
  return CallKernel(call, "aten.sub.Tensor", {x1, x2}, &difference) &&
         CallKernel(call, "aten.add.Scalar", {difference, call.Float(3)},
                    &shifted) &&
         ForwardTo(call, "aten.norm.ScalarOpt_dim",
                   {shifted, call.Float(2), IntList({last}), call.Bool(4)});
}

// x1 · x2 / (‖x1‖ ‖x2‖), each norm at least eps.
bool CosineSimilarity(KernelCall& call) {
  const Tensor &x1 = call.tensor(0), &x2 = call.tensor(1);
  Sizes sizes;
  int64_t dim = call.Int(2);
  const double eps = call.Float(3);
  if (!IsFloating(x1.dtype()) || !IsFloating(x2.dtype())) {
    return call.Fail("cosine_similarity: expected floating tensors");
  }
  if (!BroadcastSizes(x1.sizes(), x2.sizes(), &sizes)) {
    return call.Fail("cosine_similarity: sizes do not broadcast");
  }
  if (!CheckSizes(call, sizes) ||
      !WrapDim(call, static_cast<int64_t>(sizes.size()), &dim)) {
    return false;
  }
  const std::vector<double> a = ReadAll<double>(ExpandTo(x1, sizes));
  const std::vector<double> b = ReadAll<double>(ExpandTo(x2, sizes));
  const int64_t length = sizes.empty() ? 1 : sizes[dim];
  const int64_t step = sizes.empty() ? 1 : ContiguousStrides(sizes)[dim];
  Sizes out_sizes = sizes;
  if (!sizes.empty()) out_sizes.erase(out_sizes.begin() + dim);
  Tensor out;
  const DType dtype =
      SizeBytes(x1.dtype()) >= SizeBytes(x2.dtype()) ? x1.dtype() : x2.dtype();
  if (!Allocate(call, dtype, out_sizes, &out)) return false;
  std::vector<double> values;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const int64_t start = i / step * step * length + i % step;
    double dot = 0, square_a = 0, square_b = 0;
    for (int64_t k = 0; k < length; ++k) {
      const size_t at = static_cast<size_t>(start + k * step);
      dot += a[at] * b[at];
      square_a += a[at] * a[at];
      square_b += b[at] * b[at];
    }
    values.push_back(dot / (std::max(std::sqrt(square_a), eps) *
                            std::max(std::sqrt(square_b), eps)));
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.cdist.default", Cdist},
    {"aten._cdist_forward.default", Cdist},
    {"aten._euclidean_dist.default", EuclideanDist},
    {"aten.pdist.default", Pdist},
    {"aten._pdist_forward.default", Pdist},
    {"aten.pairwise_distance.default", PairwiseDistance},
    {"aten.cosine_similarity.default", CosineSimilarity},
};

}  // namespace

std::span<const KernelEntry> DistanceKernels() { return kEntries; }

}  // namespace tenon
