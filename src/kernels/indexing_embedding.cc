// Rows of a table: embedding, and embedding_bag, which reduces bags of rows.
#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool CheckIndices(KernelCall& call, const Tensor& indices, int64_t rows,
                  std::vector<int64_t>* out) {
  if (indices.dtype() != DType::kInt64 && indices.dtype() != DType::kInt32) {
    return call.Fail("embedding: expected int64 or int32 indices, found " +
                     std::string(Name(indices.dtype())));
  }
  *out = ReadAll<int64_t>(indices);
  for (int64_t index : *out) {
    if (index < 0 || index >= rows) {
      return call.Fail("embedding: index " + std::to_string(index) +
                       " is out of range for " + std::to_string(rows) +
                       " rows");
    }
  }
  return true;
}

bool Embedding(KernelCall& call) {
  const Tensor &weight = call.tensor(0), &indices = call.tensor(1);
  if (weight.dim() != 2) return call.Fail("embedding: weight must be 2-d");
  if (indices.dtype() != DType::kInt64 && indices.dtype() != DType::kInt32) {
    return call.Fail("embedding: expected int64 or int32 indices, found " +
                     std::string(Name(indices.dtype())));
  }
  Sizes sizes = indices.sizes();
  sizes.push_back(weight.size(1));
  Tensor rows;
  if (!CheckSizes(call, sizes) ||
      !CallKernel(call, "aten.index_select.default",
                  {weight, int64_t{0}, Reshaped(indices, {indices.numel()})},
                  &rows)) {
    return false;
  }
  call.Return(Reshaped(rows, sizes));
  return true;
}

// Sums gradients into the rows that they came from; `padding_idx` gets none.
bool EmbeddingDenseBackward(KernelCall& call) {
  const Tensor& grad = call.tensor(0);
  const int64_t num_weights = call.Int(2), padding_idx = call.Int(3);
  std::vector<int64_t> indices;
  if (grad.dim() == 0 || num_weights < 0) {
    return call.Fail("embedding_dense_backward: bad gradient or num_weights");
  }
  if (!CheckIndices(call, call.tensor(1), num_weights, &indices)) return false;
  const int64_t width = grad.sizes().back();
  if (grad.numel() != static_cast<int64_t>(indices.size()) * width) {
    return call.Fail("embedding_dense_backward: gradient of the wrong sizes");
  }
  Tensor out;
  if (!Allocate(call, grad.dtype(), {num_weights, width}, &out)) return false;
  std::vector<double> sums(static_cast<size_t>(out.numel()));
  std::vector<int64_t> counts(static_cast<size_t>(num_weights));
  for (int64_t index : indices) ++counts[static_cast<size_t>(index)];
  const std::vector<double> values = ReadAll<double>(grad);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == padding_idx) continue;
    const double scale =
        call.Bool(4) ? 1.0 / counts[static_cast<size_t>(indices[i])] : 1.0;
    for (int64_t k = 0; k < width; ++k) {
      sums[static_cast<size_t>(indices[i] * width + k)] +=
          values[i * static_cast<size_t>(width) + static_cast<size_t>(k)] *
          scale;
    }
  }
  WriteAll(&out, sums);
  call.Return(out);
  return true;
}

// Scales rows whose norm exceeds max_norm down to it.
bool EmbeddingRenorm(KernelCall& call) {
  Tensor self = call.tensor(0);
  const double max_norm = call.Float(2), power = call.Float(3);
  std::vector<int64_t> indices;
  if (self.dim() != 2) return call.Fail("embedding_renorm: expected 2-d");
  if (!CheckIndices(call, call.tensor(1), self.size(0), &indices)) {
    return false;
  }
  if (!PrepareWrite(call, self)) return false;
  for (int64_t index : std::set<int64_t>(indices.begin(), indices.end())) {
    Tensor row = Selected(self, 0, index);
    std::vector<double> values = ReadAll<double>(row);
    double sum = 0, largest = 0;
    for (double v : values) {
      sum += std::pow(std::abs(v), power);
      largest = std::max(largest, std::abs(v));
    }
    const double norm =
        std::isinf(power) ? largest : std::pow(sum, 1.0 / power);
    if (norm <= max_norm) continue;
    for (double& v : values) v *= max_norm / (norm + 1e-7);
    WriteAll(&row, values);
  }
  call.Return(self);
  return true;
}

// --- bags ---

enum BagMode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
  std::vector<int64_t> indices;
  std::vector<int64_t> bag_of;  // per index
  int64_t count = 0;
};

bool ReadBags(KernelCall& call, const Tensor& weight, const Tensor& indices,
              const Tensor& offsets, bool include_last_offset, Bags* out) {
  if (weight.dim() != 2 || indices.dim() != 1 || offsets.dim() != 1) {
    return call.Fail(
        "embedding_bag: expected a 2-d weight, 1-d indices and "
        "1-d offsets");
  }
  if (!CheckIndices(call, indices, weight.size(0), &out->indices)) return false;
  if (offsets.dtype() != DType::kInt64 && offsets.dtype() != DType::kInt32) {
    return call.Fail("embedding_bag: expected int64 or int32 offsets");
  }
  const std::vector<int64_t> starts = ReadAll<int64_t>(offsets);
  const int64_t total = static_cast<int64_t>(out->indices.size());
  if (include_last_offset && starts.empty()) {
    return call.Fail("embedding_bag: include_last_offset needs an offset");
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t least = i == 0 ? 0 : starts[i - 1];
    if ((i == 0 && starts[0] != 0) || starts[i] < least || starts[i] > total) {
      return call.Fail(
          "embedding_bag: offsets must start at 0, ascend, and "
          "not exceed the number of indices");
    }
  }
  out->count =
      static_cast<int64_t>(starts.size()) - (include_last_offset ? 1 : 0);
  out->bag_of.assign(out->indices.size(), 0);
  for (int64_t bag = 0; bag < out->count; ++bag) {
    // The last bag takes whatever is left.
    const int64_t end =
        bag + 1 < out->count ? starts[static_cast<size_t>(bag) + 1] : total;
    for (int64_t i = starts[static_cast<size_t>(bag)]; i < end; ++i) {
      out->bag_of[static_cast<size_t>(i)] = bag;
    }
  }
  return true;
}

// PyTorch's fast path for sums doesn't say which bag an index belongs to.
bool HasFastSum(const Tensor& weight, const Tensor& scale,
                int64_t padding_idx) {
  const DType dtype = weight.dtype();
  return (dtype == DType::kFloat32 || dtype == DType::kFloat16 ||
          dtype == DType::kBFloat16) &&
         weight.stride(1) == 1 && padding_idx < 0 &&
         (!scale.defined() || scale.stride(0) == 1);
}

// Rows are visited in order, as a sum's rounding and the first of equal
// maxima depend on it.
struct BagResult {
  std::vector<double> rows;
  std::vector<int64_t> sizes;      // without padding
  std::vector<int64_t> max_index;  // per element, of mode max
};

BagResult ReduceBags(const Bags& bags, const Tensor& weight,
                     const Tensor& scale, int64_t mode, int64_t padding_idx) {
  const size_t width = static_cast<size_t>(weight.size(1));
  const std::vector<double> table = ReadAll<double>(weight);
  const std::vector<double> scales =
      scale.defined() ? ReadAll<double>(scale) : std::vector<double>();
  BagResult out;
  out.rows.assign(static_cast<size_t>(bags.count) * width, 0.0);
  out.sizes.assign(static_cast<size_t>(bags.count), 0);
  out.max_index.assign(out.rows.size(), 0);
  for (size_t i = 0; i < bags.indices.size() && bags.count > 0; ++i) {
    if (bags.indices[i] == padding_idx) continue;
    const size_t bag = static_cast<size_t>(bags.bag_of[i]);
    const double* row =
        table.data() + static_cast<size_t>(bags.indices[i]) * width;
    const bool first = out.sizes[bag]++ == 0;
    for (size_t k = 0; k < width; ++k) {
      double& value = out.rows[bag * width + k];
      if (mode != kMax) {
        value += scales.empty() ? row[k] : row[k] * scales[i];
      } else if (first || row[k] > value) {
        value = row[k];
        out.max_index[bag * width + k] = bags.indices[i];
      }
    }
  }
  if (mode == kMean) {
    for (size_t i = 0; i < out.rows.size(); ++i) {
      out.rows[i] /= std::max<int64_t>(out.sizes[i / width], 1);
    }
  }
  return out;
}

// `forward_only`: without include_last_offset's cut in what only a gradient
// would need.
bool ReturnBags(KernelCall& call, bool forward_only, int64_t padding_idx) {
  const Tensor &weight = call.tensor(0), &indices = call.tensor(1);
  const Tensor& offsets = call.tensor(2);
  const int64_t mode = call.Int(4);
  const Tensor scale = call.OptionalTensor(6);
  const bool include_last = call.Bool(7);
  if (mode < kSum || mode > kMax) {
    return call.Fail("embedding_bag: unknown mode " + std::to_string(mode));
  }
  if (!IsFloating(weight.dtype())) {
    return call.Fail("embedding_bag: expected a floating weight");
  }
  if (scale.defined() && (mode != kSum || scale.sizes() != indices.sizes() ||
                          scale.dtype() != weight.dtype())) {
    return call.Fail(
        "embedding_bag: per_sample_weights need mode sum, the "
        "weight's dtype and the indices' sizes");
  }
  Bags bags;
  if (!ReadBags(call, weight, indices, offsets, include_last, &bags)) {
    return false;
  }
  const BagResult result = ReduceBags(bags, weight, scale, mode, padding_idx);
  const bool fast = mode == kSum && HasFastSum(weight, scale, padding_idx);
  const DType index_dtype =
      indices.dtype() == DType::kInt64 ? DType::kInt64 : offsets.dtype();
  const int64_t counts =
      forward_only && mode == kSum ? offsets.numel() : bags.count;
  Tensor out, offset2bag, bag_size, max_indices;
  const Sizes max_sizes =
      mode == kMax ? Sizes{bags.count, weight.size(1)} : Sizes{counts};
  if (!Allocate(call, weight.dtype(), {bags.count, weight.size(1)}, &out) ||
      !Allocate(call, index_dtype, {fast ? 0 : indices.numel()}, &offset2bag) ||
      !AllocateZeros(call, index_dtype, {counts}, &bag_size) ||
      !AllocateZeros(call, index_dtype, max_sizes, &max_indices)) {
    return false;
  }
  WriteAll(&out, result.rows);
  if (!fast) WriteAll(&offset2bag, bags.bag_of);
  if (mode != kSum) WriteAll(&bag_size, result.sizes);
  if (mode == kMean) WriteAll(&max_indices, result.sizes);
  if (mode == kMax) WriteAll(&max_indices, result.max_index);
  call.Return(out);
  call.Return(offset2bag);
  call.Return(bag_size);
  call.Return(max_indices);
  return true;
}

bool EmbeddingBagInner(KernelCall& call) {
  return ReturnBags(call, false, call.Int(8));
}

bool EmbeddingBagForwardOnly(KernelCall& call) {
  return ReturnBags(call, true, call.Int(8));
}

// The public form: padding_idx may be None or negative.
bool EmbeddingBag(KernelCall& call) {
  int64_t padding_idx = -1;
  if (call.num_args() > 8 && !call.is_none(8)) {
    const int64_t rows = call.tensor(0).dim() > 0 ? call.tensor(0).size(0) : 0;
    padding_idx = call.Int(8);
    if (padding_idx < -rows || padding_idx >= rows) {
      return call.Fail("embedding_bag: padding_idx is out of range");
    }
    if (padding_idx < 0) padding_idx += rows;
  }
  return ReturnBags(call, true, padding_idx);
}

constexpr KernelEntry kEntries[] = {
    {"aten.embedding.default", Embedding},
    {"aten.embedding_dense_backward.default", EmbeddingDenseBackward},
    {"aten.embedding_renorm_.default", EmbeddingRenorm},
    {"aten._embedding_bag.default", EmbeddingBagInner},
    {"aten._embedding_bag_forward_only.default", EmbeddingBagForwardOnly},
    {"aten.embedding_bag.default", EmbeddingBag},
    {"aten.embedding_bag.padding_idx", EmbeddingBag},
};

}  // namespace

std::span<const KernelEntry> IndexingEmbeddingKernels() { return kEntries; }

}  // namespace tenon
