// Histograms, quantiles, covariance, and products of whole lines.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/arithmetic.h"
#include "kernels/compose.h"
#include "kernels/ordering.h"
#include "kernels/promotion.h"
#include "kernels/reduction.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// --- histc, bincount ---

// histc(self, bins, min, max); min = max = 0 takes the range of the data.
bool Histc(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t bins = call.Int(1);
  double low = call.Float(2), high = call.Float(3);
  if (bins <= 0) return call.Fail("histc needs a bin");
  if (IsComplex(self.dtype()) || self.dtype() == DType::kBool) {
    return call.Fail("histc isn't defined for this dtype");
  }
  const std::vector<double> values = ReadAll<double>(self);
  if (low == high && !values.empty()) {
    const auto [least, most] =
        std::minmax_element(values.begin(), values.end());
    low = *least;
    high = *most;
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    return call.Fail("the range of histc isn't finite and in order");
  }
  Tensor out;
  if (!Allocate(call, self.dtype(), {bins}, &out)) return false;
  std::vector<double> counts(static_cast<size_t>(bins));
  for (const double value : values) {
    if (!(value >= low && value <= high)) continue;
    const auto bin = static_cast<int64_t>((value - low) / (high - low) *
                                          static_cast<double>(bins));
    counts[static_cast<size_t>(std::min(bin, bins - 1))] += 1;
  }
  WriteAll(&out, counts);
  call.Return(out);
  return true;
}

// bincount(self, weights, minlength)
bool Bincount(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const Tensor weights = call.OptionalTensor(1);
  int64_t length = call.Int(2);
  if (self.dim() != 1 || IsFloating(self.dtype()) || IsComplex(self.dtype())) {
    return call.Fail("bincount needs one dimension of integers");
  }
  if (length < 0) return call.Fail("minlength is negative");
  if (weights.defined() && weights.sizes() != self.sizes()) {
    return call.Fail("weights and values differ in sizes");
  }
  const std::vector<int64_t> values = ReadAll<int64_t>(self);
  for (const int64_t value : values) {
    if (value < 0 || value == INT64_MAX) {
      return call.Fail("bincount of a negative value");
    }
    length = std::max(length, value + 1);
  }
  const DType dtype = !weights.defined()                   ? DType::kInt64
                      : weights.dtype() == DType::kFloat32 ? DType::kFloat32
                                                           : DType::kFloat64;
  Tensor out;
  if (!Allocate(call, dtype, {length}, &out)) return false;
  const std::vector<double> factors =
      weights.defined() ? ReadAll<double>(weights)
                        : std::vector<double>(values.size(), 1.0);
  std::vector<double> counts(static_cast<size_t>(length));
  for (size_t i = 0; i < values.size(); ++i) {
    counts[static_cast<size_t>(values[i])] += factors[i];
  }
  WriteAll(&out, counts);
  call.Return(out);
  return true;
}

// --- quantiles ---

// The value at a fractional rank of sorted values without nan.
template <typename C>
C AtRank(const std::vector<C>& sorted, double rank, const std::string& mode) {
  const double below = std::floor(rank), above = std::ceil(rank);
  const C low = sorted[static_cast<size_t>(below)];
  const C high = sorted[static_cast<size_t>(above)];
  if (mode == "lower") return low;
  if (mode == "higher") return high;
  if (mode == "nearest") {
    return sorted[static_cast<size_t>(std::nearbyint(rank))];
  }
  const double weight = mode == "midpoint" ? 0.5 : rank - below;
  if (below == above || low == high) return low;
  // From the nearer end, so that an infinite one decides.
  const double from = static_cast<double>(low), to = static_cast<double>(high);
  return static_cast<C>(weight < 0.5 ? from + weight * (to - from)
                                     : to - (to - from) * (1 - weight));
}

template <typename C>
C QuantileOf(std::span<const C> line, double q, const std::string& mode,
             bool skip_nan) {
  std::vector<C> sorted;
  for (const C value : line) {
    if (!IsNan(value)) sorted.push_back(value);
  }
  const bool has_nan = sorted.size() < line.size();
  if (sorted.empty() || (has_nan && !skip_nan) || std::isnan(q)) {
    return std::numeric_limits<C>::quiet_NaN();
  }
  std::sort(sorted.begin(), sorted.end());
  return AtRank(sorted, q * static_cast<double>(sorted.size() - 1), mode);
}

bool CheckMode(KernelCall& call, const std::string& mode) {
  for (const char* known :
       {"linear", "lower", "higher", "midpoint", "nearest"}) {
    if (mode == known) return true;
  }
  return call.Fail("no interpolation '" + mode + "'");
}

// quantile(self, q, dim, keepdim, *, interpolation); a list of q leads.
template <bool kSkipNan>
bool Quantile(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const std::string& mode = call.arg(4).string();
  std::vector<bool> reduced;
  if (self.dtype() != DType::kFloat32 && self.dtype() != DType::kFloat64) {
    return call.Fail("quantiles are of float32 or float64");
  }
  if (!CheckMode(call, mode) ||
      !ReadDims(call, self, call.arg(2), true, &reduced)) {
    return false;
  }
  const bool has_tensor = call.arg(1).is_tensor();
  if (has_tensor &&
      (call.tensor(1).dim() > 1 || call.tensor(1).dtype() != self.dtype())) {
    return call.Fail("q has at most one dimension and the input's dtype");
  }
  if (LineLength(self, reduced) == 0) {
    return call.Fail("a quantile of no elements");
  }
  const std::vector<double> fractions =
      has_tensor ? ReadAll<double>(call.tensor(1))
                 : std::vector<double>{call.Float(1)};
  for (const double q : fractions) {
    if (q < 0 || q > 1) return call.Fail("q lies outside [0, 1]");
  }
  // The list of q is the fastest dimension in memory, whatever its place.
  const bool has_list = has_tensor && call.tensor(1).dim() == 1;
  const auto count = static_cast<int64_t>(fractions.size());
  Sizes sizes = ReducedSizes(self, reduced, call.Bool(3));
  if (has_list) sizes.push_back(count);
  Tensor out;
  if (!Allocate(call, self.dtype(), sizes, &out)) return false;
  DispatchReal(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Lines<C> lines = ReadLines<C>(self, reduced);
    std::vector<C> values;
    for (int64_t i = 0; i < lines.count; ++i) {
      for (const double q : fractions) {
        values.push_back(QuantileOf(lines.line(i), q, mode, kSkipNan));
      }
    }
    WriteAll(&out, values);
  });
  if (has_list) {
    Sizes order = {out.dim() - 1};
    for (int64_t d = 0; d + 1 < out.dim(); ++d) order.push_back(d);
    out = Permuted(out, order);
  }
  call.Return(out);
  return true;
}

// --- cov, corrcoef: rows are variables, columns observations ---

struct Weights {
  std::vector<double> each;  // per observation
  double sum = 0;
  double divisor = 0;
};

bool ReadWeights(KernelCall& call, size_t observations, Weights* out) {
  const Tensor counts = call.OptionalTensor(2),
               factors = call.OptionalTensor(3);
  const double correction = static_cast<double>(call.Int(1));
  for (const Tensor& t : {counts, factors}) {
    if (t.defined() &&
        (t.dim() > 1 || t.numel() != static_cast<int64_t>(observations))) {
      return call.Fail("as many weights as observations");
    }
  }
  if (counts.defined() &&
      (IsFloating(counts.dtype()) || IsComplex(counts.dtype()) ||
       counts.dtype() == DType::kBool)) {
    return call.Fail("fweights are integers");
  }
  if (factors.defined() && !IsFloating(factors.dtype())) {
    return call.Fail("aweights are floating");
  }
  out->each.assign(observations, 1.0);
  std::vector<double> reliability(observations, 1.0);
  if (counts.defined()) out->each = ReadAll<double>(counts);
  if (factors.defined()) reliability = ReadAll<double>(factors);
  double weighted = 0;
  for (size_t i = 0; i < observations; ++i) {
    if (out->each[i] < 0 || reliability[i] < 0) {
      return call.Fail("a negative weight");
    }
    out->each[i] *= reliability[i];
    out->sum += out->each[i];
    weighted += out->each[i] * reliability[i];
  }
  if (observations > 0 && out->sum == 0) return call.Fail("weights sum to 0");
  out->divisor = factors.defined() && correction != 0
                     ? out->sum - correction * weighted / out->sum
                     : out->sum - correction;
  out->divisor = std::max(out->divisor, 0.0);
  return true;
}

template <typename C>
std::vector<C> CovarianceOf(std::vector<C> rows, size_t variables,
                            size_t observations, const Weights& weights) {
  for (size_t v = 0; v < variables; ++v) {
    C mean(0);
    C* row = rows.data() + v * observations;
    for (size_t i = 0; i < observations; ++i) mean += row[i] * weights.each[i];
    mean /= weights.sum;
    for (size_t i = 0; i < observations; ++i) row[i] -= mean;
  }
  std::vector<C> result(variables * variables);
  for (size_t a = 0; a < variables; ++a) {
    for (size_t b = 0; b < variables; ++b) {
      C sum(0);
      for (size_t i = 0; i < observations; ++i) {
        const C other = rows[b * observations + i];
        if constexpr (kIsComplex<C>) {
          sum +=
              rows[a * observations + i] * weights.each[i] * std::conj(other);
        } else {
          sum += rows[a * observations + i] * weights.each[i] * other;
        }
      }
      result[a * variables + b] = sum / weights.divisor;
    }
  }
  return result;
}

bool Covariance(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if (self.dim() > 2) return call.Fail("cov needs at most two dimensions");
  if (self.dtype() == DType::kBool) return call.Fail("cov of bool");
  const auto variables = static_cast<size_t>(self.dim() < 2 ? 1 : self.size(0));
  const auto observations =
      static_cast<size_t>(self.dim() < 2 ? self.numel() : self.size(1));
  std::vector<Operand> operands = {{self, false}};
  if (!call.is_none(3)) operands.push_back({call.tensor(3), false});
  Weights weights;
  Tensor out;
  const auto n = static_cast<int64_t>(variables);
  if (!ReadWeights(call, observations, &weights) ||
      !Allocate(call, IntToFloat(ResultType(operands)),
                self.dim() < 2 || n == 1 ? Sizes{} : Sizes{n, n}, &out)) {
    return false;
  }
  if (IsComplex(self.dtype())) {
    using C = std::complex<double>;
    WriteAll(&out,
             CovarianceOf(ReadAll<C>(self), variables, observations, weights));
  } else {
    WriteAll(&out, CovarianceOf(ReadAll<double>(self), variables, observations,
                                weights));
  }
  call.Return(out);
  return true;
}

// Each entry over both standard deviations, parts clipped to [-1, 1].
bool Correlation(KernelCall& call) {
  using C = std::complex<double>;
  if (call.tensor(0).dim() > 2) {
    return call.Fail("corrcoef needs at most two dimensions");
  }
  Tensor cov;
  if (!CallKernel(call, "aten.cov.default", {call.tensor(0)}, &cov)) {
    return false;
  }
  std::vector<C> values = ReadAll<C>(cov);
  const auto n = static_cast<size_t>(cov.dim() == 0 ? 1 : cov.size(0));
  std::vector<double> deviations(n);
  for (size_t i = 0; i < n; ++i) {
    deviations[i] = std::sqrt(values[i * n + i].real());
  }
  const auto clip = [](double x) {
    return std::isnan(x) ? x : std::clamp(x, -1.0, 1.0);
  };
  for (size_t a = 0; a < n; ++a) {
    for (size_t b = 0; b < n; ++b) {
      C& value = values[a * n + b];
      value = cov.dim() == 0 ? value / value
                             : value / deviations[a] / deviations[b];
      value = C(clip(value.real()), clip(value.imag()));
    }
  }
  WriteAll(&cov, values);
  call.Return(cov);
  return true;
}

// --- cross ---

bool CrossAlong(KernelCall& call, int64_t dim) {
  const Operand both[] = {OperandOf(call, 0), OperandOf(call, 1)};
  Sizes sizes;
  if (both[0].tensor.dim() != both[1].tensor.dim() ||
      !BroadcastSizes(both[0].tensor.sizes(), both[1].tensor.sizes(), &sizes)) {
    return call.Fail("the operands of cross don't broadcast");
  }
  if (!WrapDim(call, static_cast<int64_t>(sizes.size()), &dim)) return false;
  if (sizes.empty() || sizes[static_cast<size_t>(dim)] != 3 ||
      both[0].tensor.size(dim) != 3 || both[1].tensor.size(dim) != 3) {
    return call.Fail("cross needs a dimension of size 3");
  }
  Tensor out;
  const DType common = ResultType(both);
  const Tensor a = Cast(both[0].tensor, common),
               b = Cast(both[1].tensor, common);
  if (common == DType::kUnknown || common == DType::kBool || !a.defined() ||
      !b.defined()) {
    return call.Fail("cross isn't defined for these dtypes");
  }
  if (!Allocate(call, common, sizes, &out)) return false;
  std::vector<bool> axis(sizes.size(), false);
  axis[static_cast<size_t>(dim)] = true;
  DispatchCompute(common, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const Lines<C> x = ReadLines<C>(ExpandTo(a, sizes), axis);
    const Lines<C> y = ReadLines<C>(ExpandTo(b, sizes), axis);
    std::vector<C> values;
    for (int64_t i = 0; i < x.count; ++i) {
      const auto u = x.line(i), v = y.line(i);
      for (size_t k = 0; k < 3; ++k) {
        const size_t p = (k + 1) % 3, q = (k + 2) % 3;
        values.push_back(Sub(Mul(u[p], v[q]), Mul(u[q], v[p])));
      }
    }
    Tensor view = ReducedLast(out, axis);
    WriteAll(&view, values);
  });
  call.Return(out);
  return true;
}

bool LinalgCross(KernelCall& call) { return CrossAlong(call, call.Int(2)); }

// Without a dim the first of size 3.
bool Cross(KernelCall& call) {
  if (!call.is_none(2)) return CrossAlong(call, call.Int(2));
  const Sizes& sizes = call.tensor(0).sizes();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 3) return CrossAlong(call, static_cast<int64_t>(d));
  }
  return call.Fail("no dimension of size 3");
}

// --- combinations, cartesian_prod ---

// The next combination of indices below `n`; false after the last one.
bool Advance(std::vector<int64_t>* picks, int64_t n, bool replacement) {
  const auto r = static_cast<int64_t>(picks->size());
  for (int64_t i = r; i-- > 0;) {
    int64_t& pick = (*picks)[static_cast<size_t>(i)];
    const int64_t last = replacement ? n - 1 : n - r + i;
    if (pick >= last) continue;
    ++pick;
    for (int64_t k = i + 1; k < r; ++k) {
      (*picks)[static_cast<size_t>(k)] =
          (*picks)[static_cast<size_t>(k - 1)] + (replacement ? 0 : 1);
    }
    return true;
  }
  return false;
}

bool Combinations(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t r = call.Int(1);
  const bool replacement = call.Bool(2);
  if (self.dim() != 1) return call.Fail("combinations need one dimension");
  if (r < 0) return call.Fail("a negative number of picks");
  Tensor out;
  if (r == 0) {
    if (!Allocate(call, self.dtype(), {0}, &out)) return false;
    call.Return(out);
    return true;
  }
  const int64_t n = self.numel();
  if (r > 64 || n > 1 << 20) return call.Fail("too many combinations");
  std::vector<int64_t> indices, picks(static_cast<size_t>(r), 0);
  for (int64_t i = 0; i < r && !replacement; ++i) {
    picks[static_cast<size_t>(i)] = i;
  }
  const bool any = n > 0 && (replacement || r <= n);
  constexpr size_t kLimit = size_t{1} << 27;
  for (bool more = any; more; more = Advance(&picks, n, replacement)) {
    if (indices.size() > kLimit) return call.Fail("too many combinations");
    indices.insert(indices.end(), picks.begin(), picks.end());
  }
  Tensor index =
      Tensor::Empty(DType::kInt64, {static_cast<int64_t>(indices.size())});
  if (!index.defined()) return call.Fail("no memory");
  WriteAll(&index, indices);
  Tensor picked;
  if (!CallKernel(call, "aten.index_select.default", {self, int64_t{0}, index},
                  &picked)) {
    return false;
  }
  // PyTorch stacks one column per pick.
  Sizes sizes = {static_cast<int64_t>(indices.size()) / r, r};
  call.Return(Reshaped(picked, sizes));
  return true;
}

bool CartesianProd(KernelCall& call) {
  const std::vector<Tensor> tensors = call.Tensors(0);
  for (const Tensor& t : tensors) {
    if (t.dim() != 1) return call.Fail("cartesian_prod needs one dimension");
  }
  if (tensors.empty()) return call.Fail("cartesian_prod of nothing");
  if (tensors.size() == 1) {
    call.Return(tensors[0]);
    return true;
  }
  std::vector<RuntimeValue> grids;
  Tensor stacked;
  if (!CallKernel(call, "aten.meshgrid.indexing",
                  {TensorList(tensors), std::string("ij")}, &grids)) {
    return false;
  }
  std::vector<Tensor> columns;
  for (const RuntimeValue& grid : grids[0].list()) {
    columns.push_back(Reshaped(grid.tensor(), {grid.tensor().numel()}));
    if (!columns.back().defined()) return call.Fail("no memory");
  }
  return ForwardTo(call, "aten.stack.default",
                   {TensorList(columns), int64_t{1}});
}

// --- renorm(self, p, dim, maxnorm): slices of `dim` shrink to the norm ---

bool Renorm(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const double order = call.Float(1), most = call.Float(3);
  int64_t dim = call.Int(2);
  if (!(order > 0) || most < 0) return call.Fail("a bad norm");
  if (self.dim() < 2) return call.Fail("renorm needs two dimensions");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  Sizes others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  // Narrow kinds are measured and scaled in float32.
  const DType wide = SizeBytes(RealDType(self.dtype())) < 4
                         ? PromoteTypes(self.dtype(), DType::kFloat32)
                         : self.dtype();
  const Tensor source = Cast(self.Contiguous(), wide);
  Tensor norms, scaled;
  if (!source.defined()) return call.Fail("no memory");
  if (!CallKernel(call, "aten.linalg_vector_norm.default",
                  {source, order, IntList(others), true}, &norms)) {
    return false;
  }
  std::vector<double> factors = ReadAll<double>(norms);
  for (double& factor : factors) {
    factor = factor > most ? most / (factor + 1e-7) : 1.0;
  }
  WriteAll(&norms, factors);
  if (!CallKernel(call, "aten.mul.Tensor", {source, norms}, &scaled)) {
    return false;
  }
  scaled = Cast(scaled, self.dtype());
  if (!scaled.defined()) return call.Fail("no memory");
  call.Return(scaled);
  return true;
}

bool Msort(KernelCall& call) {
  std::vector<RuntimeValue> results;
  if (!CallKernel(call, "aten.sort.default", {call.arg(0), int64_t{0}},
                  &results)) {
    return false;
  }
  call.Return(results[0]);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.histc.default", Histc},
    {"aten.bincount.default", Bincount},
    {"aten.quantile.default", Quantile<false>},
    {"aten.quantile.scalar", Quantile<false>},
    {"aten.nanquantile.default", Quantile<true>},
    {"aten.nanquantile.scalar", Quantile<true>},
    {"aten.cov.default", Covariance},
    {"aten.corrcoef.default", Correlation},
    {"aten.linalg_cross.default", LinalgCross},
    {"aten.cross.default", Cross},
    {"aten.combinations.default", Combinations},
    {"aten.cartesian_prod.default", CartesianProd},
    {"aten.renorm.default", Renorm},
    {"aten.msort.default", Msort},
};

}  // namespace

std::span<const KernelEntry> StatisticsKernels() { return kEntries; }

}  // namespace tenon
