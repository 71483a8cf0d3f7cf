// softmax and log_softmax along one dimension.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

enum class Kind { kSoftmax, kSafeSoftmax, kLogSoftmax };

// One line of `size` values, `step` apart. Computed in double: the outcome is
// rounded once, to the tensor's dtype.
void NormalizeLine(Kind kind, double* line, int64_t size, int64_t step) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < size; ++i) {
    const double value = line[i * step];
    if (value > largest || std::isnan(value)) largest = value;
  }
  if (kind == Kind::kSafeSoftmax &&
      largest == -std::numeric_limits<double>::infinity()) {
    for (int64_t i = 0; i < size; ++i) line[i * step] = 0;
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += std::exp(line[i * step] - largest);
  const double log_sum = std::log(sum);
  for (int64_t i = 0; i < size; ++i) {
    const double shifted = line[i * step] - largest;
    line[i * step] =
        kind == Kind::kLogSoftmax ? shifted - log_sum : std::exp(shifted) / sum;
  }
}

bool Normalize(KernelCall& call, Kind kind, const Tensor& self, int64_t dim) {
  if (!IsFloating(self.dtype())) {
    return call.Fail("softmax: expected a floating tensor, found " +
                     self.ToString());
  }
  if (!WrapDim(call, self.dim(), &dim)) return false;
  Tensor out;
  if (!Allocate(call, self.dtype(), self.sizes(), &out)) return false;
  if (self.numel() == 0) {
    call.Return(out);
    return true;
  }
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  const int64_t step = self.dim() == 0 ? 1 : out.stride(dim);
  std::vector<double> values = ReadAll<double>(self);
  for (int64_t start = 0; start < self.numel(); start += size * step) {
    for (int64_t i = 0; i < step; ++i) {
      NormalizeLine(kind, values.data() + start + i, size, step);
    }
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

// _softmax: half_to_float is for GPUs.
template <Kind kKind>
bool Inner(KernelCall& call) {
  if (call.Bool(2)) {
    return call.Fail("softmax with half_to_float needs a GPU");
  }
  return Normalize(call, kKind, call.tensor(0), call.Int(1));
}

// softmax.int: dtype casts the input first.
template <Kind kKind>
bool Outer(KernelCall& call) {
  Tensor self = call.tensor(0);
  if (!call.is_none(2)) {
    self = Cast(self, call.arg(2).dtype());
    if (!self.defined()) return call.Fail("softmax: out of memory");
  }
  return Normalize(call, kKind, self, call.Int(1));
}

// Gradients, from the output y: softmax y·(g − Σ g·y), log_softmax
// g − exp(y)·Σ g.
template <Kind kKind>
bool Backward(KernelCall& call) {
  const Tensor &grad = call.tensor(0), &output = call.tensor(1);
  int64_t dim = call.Int(2);
  if (grad.sizes() != output.sizes()) {
    return call.Fail("softmax backward: sizes differ");
  }
  if (!WrapDim(call, grad.dim(), &dim)) return false;
  Tensor out;
  if (!Allocate(call,
                call.arg(3).is_dtype() ? call.arg(3).dtype() : grad.dtype(),
                grad.sizes(), &out)) {
    return false;
  }
  const int64_t size = grad.dim() == 0 ? 1 : grad.size(dim);
  const int64_t step = grad.dim() == 0 ? 1 : out.stride(dim);
  const std::vector<double> g = ReadAll<double>(grad);
  const std::vector<double> y = ReadAll<double>(output);
  std::vector<double> values(g.size());
  for (size_t at = 0; at < g.size(); ++at) {
    const int64_t i = static_cast<int64_t>(at);
    if (i / step % size != 0) continue;  // not the first of its line
    double sum = 0;
    for (int64_t k = 0; k < size; ++k) {
      const size_t j = static_cast<size_t>(i + k * step);
      sum += kKind == Kind::kLogSoftmax ? g[j] : g[j] * y[j];
    }
    for (int64_t k = 0; k < size; ++k) {
      const size_t j = static_cast<size_t>(i + k * step);
      values[j] = kKind == Kind::kLogSoftmax ? g[j] - std::exp(y[j]) * sum
                                             : y[j] * (g[j] - sum);
    }
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten._softmax.default", Inner<Kind::kSoftmax>},
    {"aten._log_softmax.default", Inner<Kind::kLogSoftmax>},
    {"aten.softmax.int", Outer<Kind::kSoftmax>},
    {"aten.special_softmax.default", Outer<Kind::kSoftmax>},
    {"aten._safe_softmax.default", Outer<Kind::kSafeSoftmax>},
    {"aten.log_softmax.int", Outer<Kind::kLogSoftmax>},
    {"aten.special_log_softmax.default", Outer<Kind::kLogSoftmax>},
    {"aten._softmax_backward_data.default", Backward<Kind::kSoftmax>},
    {"aten._log_softmax_backward_data.default", Backward<Kind::kLogSoftmax>},
};

}  // namespace

std::span<const KernelEntry> SoftmaxKernels() { return kEntries; }

}  // namespace tenon
