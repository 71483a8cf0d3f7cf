// Scaled dot-product attention.
//
//   softmax(query · keyᵀ · scale + mask) · value
//
// Everything between the operands and the result stays in the compute type
// (float for the half types), as PyTorch's fused kernels do it. A row whose
// keys are all masked gives zeros, not nan.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/compose.h"
#include "kernels/gemm.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

struct Attention {
  Tensor query, key, value;  // batch dimensions broadcast alike
  Tensor mask;               // undefined, bool or floating; broadcast
  bool is_causal = false;
  double scale = 1.0;
  Sizes batch;

  int64_t rows() const { return query.size(query.dim() - 2); }
  int64_t keys() const { return key.size(key.dim() - 2); }
};

// Repeats the heads of key and value to those of query.
bool RepeatHeads(KernelCall& call, const Tensor& query, Tensor* tensor) {
  if (query.dim() < 3 || tensor->dim() < 3) {
    return call.Fail("enable_gqa needs a dimension of heads");
  }
  const int64_t heads = query.size(query.dim() - 3);
  const int64_t own = tensor->size(tensor->dim() - 3);
  if (own == 0 || heads % own != 0) {
    return call.Fail("enable_gqa: " + std::to_string(heads) +
                     " query heads are no multiple of " + std::to_string(own));
  }
  if (heads == own) return true;
  return CallKernel(call, "aten.repeat_interleave.self_int",
                    {*tensor, heads / own, tensor->dim() - 3}, tensor);
}

bool CheckMask(KernelCall& call, const Tensor& query, const Tensor& mask,
               bool is_causal) {
  if (!mask.defined()) return true;
  if (is_causal) {
    return call.Fail("attention: attn_mask must not be set with is_causal");
  }
  if (mask.dtype() == DType::kBool || mask.dtype() == DType::kFloat32 ||
      mask.dtype() == query.dtype()) {
    return true;
  }
  return call.Fail(
      "attention: expected a mask of bool, float32 or the "
      "query's dtype, found " +
      mask.ToString());
}

// Checks and broadcasts the operands.
bool Prepare(KernelCall& call, Tensor query, Tensor key, Tensor value,
             const Tensor& mask, bool is_causal, const RuntimeValue& scale,
             bool enable_gqa, Attention* out) {
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2) {
    return call.Fail("attention: operands need at least 2 dimensions");
  }
  if (query.dtype() != key.dtype() || query.dtype() != value.dtype() ||
      !IsFloating(query.dtype())) {
    return call.Fail("attention: expected floating operands of one dtype");
  }
  if (!CheckMask(call, query, mask, is_causal)) return false;
  if (enable_gqa &&
      (!RepeatHeads(call, query, &key) || !RepeatHeads(call, query, &value))) {
    return false;
  }
  if (query.sizes().back() != key.sizes().back() ||
      key.size(key.dim() - 2) != value.size(value.dim() - 2)) {
    return call.Fail("attention: operands don't fit: " + query.ToString() +
                     ", " + key.ToString() + ", " + value.ToString());
  }
  const auto batch_of = [](const Tensor& tensor) {
    return Sizes(tensor.sizes().begin(), tensor.sizes().end() - 2);
  };
  if (!BroadcastSizes(batch_of(query), batch_of(key), &out->batch) ||
      !BroadcastSizes(out->batch, batch_of(value), &out->batch)) {
    return call.Fail(
        "attention: batch dimensions don't broadcast: " + query.ToString() +
        ", " + key.ToString() + ", " + value.ToString());
  }
  const auto broadcast = [&](const Tensor& tensor) {
    Sizes sizes = out->batch;
    sizes.insert(sizes.end(), tensor.sizes().end() - 2, tensor.sizes().end());
    return ExpandTo(tensor, sizes);
  };
  if (!CheckSizes(call, out->batch)) return false;
  out->query = broadcast(query);
  out->key = broadcast(key);
  out->value = broadcast(value);
  out->is_causal = is_causal;
  if (mask.defined()) {
    Sizes sizes = out->batch;
    sizes.push_back(out->rows());
    sizes.push_back(out->keys());
    if (!BroadcastsTo(mask.sizes(), sizes)) {
      return call.Fail("attention: mask of sizes " + ToText(mask.sizes()) +
                       " does not broadcast to " + ToText(sizes));
    }
    out->mask = ExpandTo(mask, sizes);
  }
  out->scale = scale.is_none()
                   ? 1.0 / std::sqrt(static_cast<double>(query.sizes().back()))
                   : ScalarAs<double>(scale);
  return true;
}

// Softmax of a row in place; its log-sum-exp. All -inf gives zeros.
template <typename C>
C SoftmaxRow(C* row, int64_t count) {
  C largest = -std::numeric_limits<C>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    if (row[i] > largest || std::isnan(row[i])) largest = row[i];
  }
  if (largest == -std::numeric_limits<C>::infinity()) {
    std::fill(row, row + count, C(0));
    return largest;
  }
  C sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    row[i] = std::exp(row[i] - largest);
    sum += row[i];
  }
  for (int64_t i = 0; i < count; ++i) row[i] /= sum;
  return largest + std::log(sum);
}

// One matrix of the batch: the rows of weights, from query and key.
template <typename C>
void Weights(const Attention& a, const Tensor& query, const Tensor& key,
             const Tensor& mask, C* weights, C* log_sums) {
  const int64_t rows = query.size(0), keys = key.size(0);
  const Values<C> left(query), right(Transposed(key, 0, 1));
  MultiplyAdd(left.data(), right.data(), weights, rows, keys, query.size(1));
  const C scale = static_cast<C>(a.scale);
  for (int64_t i = 0; i < rows * keys; ++i) weights[i] *= scale;
  const C minus_infinity = -std::numeric_limits<C>::infinity();
  if (mask.defined() && mask.numel() > 0) {
    const Values<C> values(mask);
    const bool is_bool = mask.dtype() == DType::kBool;
    for (int64_t i = 0; i < rows * keys; ++i) {
      if (!is_bool) {
        weights[i] += values[i];
      } else if (values[i] == C(0)) {
        weights[i] = minus_infinity;
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    C* row = weights + r * keys;
    if (a.is_causal) {
      for (int64_t k = r + 1; k < keys; ++k) row[k] = minus_infinity;
    }
    log_sums[r] = SoftmaxRow(row, keys);
  }
}

// All matrices. `weights` [batch, rows, keys], `log_sums` [batch, rows].
template <typename C>
void AllWeights(const Attention& a, std::vector<C>* weights,
                std::vector<C>* log_sums) {
  const int64_t count = NumElements(a.batch);
  const int64_t rows = a.rows(), keys = a.keys();
  weights->assign(static_cast<size_t>(count * rows * keys), C(0));
  log_sums->assign(static_cast<size_t>(count * rows), C(0));
  const auto matrix = [&](const Tensor& tensor, int64_t offset) {
    const int64_t rank = tensor.dim();
    return tensor.View({tensor.size(rank - 2), tensor.size(rank - 1)},
                       {tensor.stride(rank - 2), tensor.stride(rank - 1)},
                       tensor.offset() + offset);
  };
  const auto offsets = [&](const Tensor& tensor) {
    if (!tensor.defined()) return std::vector<int64_t>();
    return ElementOffsets(
        a.batch, Sizes(tensor.strides().begin(), tensor.strides().end() - 2));
  };
  const std::vector<int64_t> query_at = offsets(a.query);
  const std::vector<int64_t> key_at = offsets(a.key);
  const std::vector<int64_t> mask_at = offsets(a.mask);
  for (int64_t i = 0; i < count; ++i) {
    const size_t at = static_cast<size_t>(i);
    Weights(a, matrix(a.query, query_at[at]), matrix(a.key, key_at[at]),
            a.mask.defined() ? matrix(a.mask, mask_at[at]) : Tensor(),
            weights->data() + i * rows * keys, log_sums->data() + i * rows);
  }
}

template <typename C>
void TimesValue(const Attention& a, const std::vector<C>& weights,
                std::vector<C>* out) {
  const int64_t count = NumElements(a.batch);
  const int64_t rows = a.rows(), keys = a.keys();
  const int64_t width = a.value.sizes().back();
  out->assign(static_cast<size_t>(count * rows * width), C(0));
  const Values<C> values(a.value);
  for (int64_t i = 0; i < count; ++i) {
    MultiplyAdd(weights.data() + i * rows * keys,
                values.data() + i * keys * width,
                out->data() + i * rows * width, rows, width, keys);
  }
}

bool OutputSizes(KernelCall& call, const Attention& a, Sizes* out) {
  Sizes weights = a.batch;
  weights.push_back(a.rows());
  weights.push_back(a.keys());
  *out = a.batch;
  out->push_back(a.rows());
  out->push_back(a.value.sizes().back());
  return CheckSizes(call, weights) && CheckSizes(call, *out);
}

// Whether PyTorch takes the fused kernel, whose result is laid out like the
// query.
bool IsFused(const Tensor& query, const Tensor& key, const Tensor& value) {
  for (const Tensor* t : {&query, &key, &value}) {
    if (t->dim() != 4 || t->stride(3) != 1 || t->size(2) == 0 ||
        t->size(0) != query.size(0) || t->size(3) != query.size(3)) {
      return false;
    }
  }
  return true;
}

// Dropout between softmax and value goes through the dropout operator, which
// draws as PyTorch does.
bool AttendWithDropout(KernelCall& call, const Attention& a, double p,
                       const Sizes& sizes) {
  Tensor weights, dropped, out;
  Sizes weight_sizes = a.batch;
  weight_sizes.push_back(a.rows());
  weight_sizes.push_back(a.keys());
  if (!Allocate(call, a.query.dtype(), weight_sizes, &weights)) return false;
  DispatchReal(a.query.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> values, log_sums;
    AllWeights(a, &values, &log_sums);
    WriteAll(&weights, values);
  });
  if (!CallKernel(call, "aten.dropout.default", {weights, p, true}, &dropped) ||
      !Allocate(call, a.query.dtype(), sizes, &out)) {
    return false;
  }
  DispatchReal(a.query.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> values;
    TimesValue(a, ReadAll<C>(dropped), &values);
    WriteAll(&out, values);
  });
  call.Return(out);
  return true;
}

bool Attend(KernelCall& call) {
  const double p = call.Float(4);
  Attention a;
  Sizes sizes;
  if (!(p >= 0 && p <= 1)) return call.Fail("attention: bad dropout_p");
  if (!Prepare(call, call.tensor(0), call.tensor(1), call.tensor(2),
               call.OptionalTensor(3), call.Bool(5), call.arg(6), call.Bool(7),
               &a) ||
      !OutputSizes(call, a, &sizes)) {
    return false;
  }
  if (p > 0) return AttendWithDropout(call, a, p, sizes);
  const Tensor& query = call.tensor(0);
  const Sizes strides = IsFused(query, call.tensor(1), call.tensor(2))
                            ? LikeStrides(query)
                            : ContiguousStrides(sizes);
  Tensor out;
  if (!Allocate(call, query.dtype(), sizes, strides, &out)) return false;
  DispatchReal(query.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> weights, log_sums, values;
    AllWeights(a, &weights, &log_sums);
    TimesValue(a, weights, &values);
    WriteAll(&out, values);
  });
  call.Return(out);
  return true;
}

// Also returns the log-sum-exp of each row, [batch, heads, rows] laid out with
// the heads innermost.
bool AttendFused(KernelCall& call) {
  const Tensor& query = call.tensor(0);
  Attention a;
  Sizes sizes;
  if (query.dim() != 4) return call.Fail("attention: expected rank 4");
  if (call.Float(3) != 0.0) {
    return call.Fail("attention: the fused kernel has no dropout");
  }
  if (!Prepare(call, query, call.tensor(1), call.tensor(2),
               call.OptionalTensor(5), call.Bool(4), call.arg(6),
               query.size(1) != 0 && call.tensor(1).dim() == 4 &&
                   call.tensor(1).size(1) != query.size(1),
               &a) ||
      !OutputSizes(call, a, &sizes)) {
    return false;
  }
  if (sizes != query.sizes()) {
    return call.Fail("attention: value and query differ in width or batch");
  }
  const int64_t batch = sizes[0], heads = sizes[1], rows = sizes[2];
  Tensor out, log_sum_exp;
  const DType sum_dtype =
      query.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  if (!Allocate(call, query.dtype(), sizes, LikeStrides(query), &out) ||
      !Allocate(call, sum_dtype, {batch, heads, rows}, {rows * heads, 1, heads},
                &log_sum_exp)) {
    return false;
  }
  DispatchReal(query.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> weights, log_sums, values;
    AllWeights(a, &weights, &log_sums);
    TimesValue(a, weights, &values);
    WriteAll(&out, values);
    WriteAll(&log_sum_exp, log_sums);
  });
  call.Return(out);
  call.Return(log_sum_exp);
  return true;
}

// Also returns the weights.
bool AttendMath(KernelCall& call) {
  if (call.Float(4) != 0.0 || !call.is_none(6)) {
    return call.Fail("_scaled_dot_product_attention_math with dropout");
  }
  Attention a;
  Sizes sizes;
  if (!Prepare(call, call.tensor(0), call.tensor(1), call.tensor(2),
               call.OptionalTensor(3), call.Bool(5), call.arg(7), call.Bool(8),
               &a) ||
      !OutputSizes(call, a, &sizes)) {
    return false;
  }
  Sizes weight_sizes = a.batch;
  weight_sizes.push_back(a.rows());
  weight_sizes.push_back(a.keys());
  Tensor out, weights_out;
  if (!Allocate(call, a.query.dtype(), sizes, &out) ||
      !Allocate(call, a.query.dtype(), weight_sizes, &weights_out)) {
    return false;
  }
  DispatchReal(a.query.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> weights, log_sums, values;
    AllWeights(a, &weights, &log_sums);
    TimesValue(a, weights, &values);
    WriteAll(&out, values);
    WriteAll(&weights_out, weights);
  });
  call.Return(out);
  call.Return(weights_out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.scaled_dot_product_attention.default", Attend},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", AttendFused},
    {"aten._scaled_dot_product_attention_math.default", AttendMath},
};

}  // namespace

std::span<const KernelEntry> AttentionKernels() { return kEntries; }

}  // namespace tenon
