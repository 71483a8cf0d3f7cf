#include "kernels/broadcast.h"

#include <algorithm>
#include <numeric>

namespace tenon {
namespace {

// Strides of `tensor` as an operand of an iteration over `sizes`: 0 where it
// is broadcast.
Sizes OperandStrides(const Tensor& tensor, const Sizes& sizes) {
  Sizes strides(sizes.size(), 0);
  const size_t lead = sizes.size() - tensor.sizes().size();
  for (size_t d = lead; d < sizes.size(); ++d) {
    if (tensor.sizes()[d - lead] == sizes[d]) {
      strides[d] = tensor.strides()[d - lead];
    }
  }
  return strides;
}

bool HasChannelsLastStrides(const Tensor& tensor,
                            std::span<const size_t> order) {
  if (tensor.sizes().size() != order.size()) return false;
  int64_t expected = 1;
  for (const size_t d : order) {
    if (tensor.sizes()[d] == 1) continue;
    if (tensor.strides()[d] != expected) return false;
    expected *= tensor.sizes()[d];
  }
  return true;
}

constexpr size_t kChannelsLast2d[] = {1, 3, 2, 0};
constexpr size_t kChannelsLast3d[] = {1, 4, 3, 2, 0};

// Positive when dimension `a` lies outside of (varies slower than) `b`,
// negative when inside, 0 when no operand tells.
int Compare(const Sizes& sizes, const std::vector<Sizes>& strides, size_t a,
            size_t b) {
  for (const Sizes& s : strides) {
    if (s[a] == 0 || s[b] == 0) continue;
    if (s[a] != s[b]) return s[a] < s[b] ? -1 : 1;
    if (sizes[a] > sizes[b]) return 1;
  }
  return 0;
}

// Dimensions from the fastest to the slowest: an insertion sort, because
// Compare isn't transitive and the outcome has to be PyTorch's.
std::vector<size_t> IterationOrder(const Sizes& sizes,
                                   const std::vector<Sizes>& strides) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t d = i; d-- > 0;) {
      const int comparison = Compare(sizes, strides, order[d], order[at]);
      if (comparison > 0) {
        std::swap(order[d], order[at]);
        at = d;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return order;
}

}  // namespace

bool BroadcastSizes(const Sizes& a, const Sizes& b, Sizes* out) {
  const size_t rank = std::max(a.size(), b.size());
  Sizes sizes(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return false;
    sizes[rank - 1 - i] = x == 1 ? y : x;
  }
  *out = std::move(sizes);
  return true;
}

bool BroadcastSizes(std::span<const Tensor> tensors, Sizes* out) {
  Sizes sizes;
  for (const Tensor& tensor : tensors) {
    if (tensor.defined() && !BroadcastSizes(sizes, tensor.sizes(), &sizes)) {
      return false;
    }
  }
  *out = std::move(sizes);
  return true;
}

bool BroadcastsTo(const Sizes& from, const Sizes& to) {
  Sizes sizes;
  return BroadcastSizes(from, to, &sizes) && sizes == to;
}

Tensor ExpandTo(const Tensor& tensor, const Sizes& sizes) {
  return tensor.View(sizes, OperandStrides(tensor, sizes), tensor.offset());
}

Sizes ResultStrides(const Sizes& sizes, std::span<const Tensor> operands) {
  std::vector<const Tensor*> defined;
  for (const Tensor& t : operands) {
    if (t.defined()) defined.push_back(&t);
  }
  if (defined.empty()) return ContiguousStrides(sizes);
  const auto all = [&](auto predicate) {
    return std::all_of(defined.begin(), defined.end(), predicate);
  };
  if (all([&](const Tensor* t) { return t->sizes() == sizes; })) {
    if (all([](const Tensor* t) { return t->is_contiguous(); })) {
      return ContiguousStrides(sizes);
    }
    if (all([](const Tensor* t) { return IsChannelsLast(*t); })) {
      return ChannelsLastStrides(sizes);
    }
    if (all([&](const Tensor* t) {
          return t->is_dense() && t->strides() == defined[0]->strides();
        })) {
      return defined[0]->strides();
    }
  }
  std::vector<Sizes> strides;
  for (const Tensor* t : defined) strides.push_back(OperandStrides(*t, sizes));
  const std::vector<size_t> order = IterationOrder(sizes, strides);
  bool row_major = true;
  for (size_t i = 0; i < order.size(); ++i) {
    row_major = row_major && order[i] == sizes.size() - 1 - i;
  }
  if (row_major) return ContiguousStrides(sizes);
  Sizes result(sizes.size());
  int64_t next = 1;
  for (const size_t d : order) {
    result[d] = next;
    next *= sizes[d];
  }
  return result;
}

Sizes ChannelsLastStrides(const Sizes& sizes) {
  Sizes strides(sizes.size());
  const std::span<const size_t> order =
      sizes.size() == 5 ? std::span<const size_t>(kChannelsLast3d)
                        : std::span<const size_t>(kChannelsLast2d);
  int64_t next = 1;
  for (const size_t d : order) {
    strides[d] = next;
    next *= std::max<int64_t>(sizes[d], 1);
  }
  return strides;
}

bool IsChannelsLast(const Tensor& tensor) {
  return HasChannelsLastStrides(tensor, kChannelsLast2d);
}

bool IsChannelsLast3d(const Tensor& tensor) {
  return HasChannelsLastStrides(tensor, kChannelsLast3d);
}

bool Allocate(KernelCall& call, DType dtype, Sizes sizes, Tensor* out) {
  Sizes strides = ContiguousStrides(sizes);
  return Allocate(call, dtype, std::move(sizes), std::move(strides), out);
}

bool Allocate(KernelCall& call, DType dtype, Sizes sizes, Sizes strides,
              Tensor* out) {
  std::string text = ToText(sizes);
  *out = Tensor::EmptyStrided(dtype, std::move(sizes), std::move(strides));
  if (out->defined()) return true;
  return call.Fail("can't allocate a tensor of sizes " + text);
}

std::string ToText(const Sizes& sizes) {
  std::string text = "[";
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(sizes[d]);
  }
  return text + "]";
}

}  // namespace tenon
