#include "kernels/views.h"

#include <algorithm>

#include "support/checked.h"

namespace tenon {

Tensor Transposed(const Tensor& tensor, int64_t dim0, int64_t dim1) {
  if (tensor.dim() == 0) return tensor;
  Sizes sizes = tensor.sizes(), strides = tensor.strides();
  std::swap(sizes[dim0], sizes[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return tensor.View(std::move(sizes), std::move(strides), tensor.offset());
}

Tensor Permuted(const Tensor& tensor, const Sizes& dims) {
  Sizes sizes, strides;
  for (int64_t dim : dims) {
    sizes.push_back(tensor.size(dim));
    strides.push_back(tensor.stride(dim));
  }
  return tensor.View(std::move(sizes), std::move(strides), tensor.offset());
}

Tensor Selected(const Tensor& tensor, int64_t dim, int64_t index) {
  Sizes sizes = tensor.sizes(), strides = tensor.strides();
  const int64_t offset = tensor.offset() + index * strides[dim];
  sizes.erase(sizes.begin() + dim);
  strides.erase(strides.begin() + dim);
  return tensor.View(std::move(sizes), std::move(strides), offset);
}

Tensor Narrowed(const Tensor& tensor, int64_t dim, int64_t start,
                int64_t length, int64_t step) {
  Sizes sizes = tensor.sizes(), strides = tensor.strides();
  const int64_t offset = tensor.offset() + start * strides[dim];
  sizes[dim] = length;
  // Wraps for a hostile step, whose stride then is never stepped by.
  strides[dim] = static_cast<int64_t>(static_cast<uint64_t>(strides[dim]) *
                                      static_cast<uint64_t>(step));
  return tensor.View(std::move(sizes), std::move(strides), offset);
}

Tensor Unsqueezed(const Tensor& tensor, int64_t dim) {
  Sizes sizes = tensor.sizes(), strides = tensor.strides();
  const int64_t stride = dim >= tensor.dim() ? 1 : sizes[dim] * strides[dim];
  sizes.insert(sizes.begin() + dim, 1);
  strides.insert(strides.begin() + dim, stride);
  return tensor.View(std::move(sizes), std::move(strides), tensor.offset());
}

Tensor Squeezed(const Tensor& tensor, int64_t dim) {
  if (tensor.dim() == 0 || tensor.size(dim) != 1) return tensor;
  return Selected(tensor, dim, 0);
}

std::optional<Tensor> Expanded(const Tensor& tensor, const Sizes& sizes) {
  const int64_t rank = static_cast<int64_t>(sizes.size());
  const int64_t added = rank - tensor.dim();
  if (added < 0) return std::nullopt;
  Sizes out_sizes(rank), out_strides(rank);
  if (tensor.dim() == 0) {
    for (int64_t size : sizes) {
      if (size < 0) return std::nullopt;
    }
    return tensor.View(sizes, out_strides, tensor.offset());
  }
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t source = i - added;
    int64_t size = 1;
    int64_t stride = i + 1 < rank ? out_sizes[i + 1] * out_strides[i + 1] : 1;
    if (source >= 0) {
      size = tensor.size(source);
      stride = tensor.stride(source);
    }
    int64_t target = sizes[i];
    if (target == -1) {
      if (source < 0) return std::nullopt;
      target = size;
    }
    if (target < 0) return std::nullopt;
    if (size != target) {
      if (size != 1) return std::nullopt;
      size = target;
      stride = 0;
    }
    out_sizes[i] = size;
    out_strides[i] = stride;
  }
  return tensor.View(std::move(out_sizes), std::move(out_strides),
                     tensor.offset());
}

std::optional<Sizes> ViewStrides(const Sizes& sizes, const Sizes& strides,
                                 const Sizes& new_sizes) {
  if (sizes.empty()) return Sizes(new_sizes.size(), 1);
  if (NumElements(sizes) == 0) {
    return sizes == new_sizes ? strides : ContiguousStrides(new_sizes);
  }
  // Walks both shapes from the innermost dimension. A run of old dimensions
  // that lie without gaps is one chunk, which new dimensions must fill exactly.
  Sizes out(new_sizes.size());
  int64_t view_dim = static_cast<int64_t>(new_sizes.size()) - 1;
  int64_t chunk_stride = strides.back();
  int64_t chunk_numel = 1, view_numel = 1;
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
    chunk_numel *= sizes[d];
    const bool ends_chunk =
        d == 0 ||
        (sizes[d - 1] != 1 && strides[d - 1] != chunk_numel * chunk_stride);
    if (!ends_chunk) continue;
    while (view_dim >= 0 &&
           (view_numel < chunk_numel || new_sizes[view_dim] == 1)) {
      out[view_dim] = view_numel * chunk_stride;
      view_numel *= new_sizes[view_dim];
      --view_dim;
    }
    if (view_numel != chunk_numel) return std::nullopt;
    if (d > 0) {
      chunk_stride = strides[d - 1];
      chunk_numel = view_numel = 1;
    }
  }
  if (view_dim != -1) return std::nullopt;
  return out;
}

Tensor Reshaped(const Tensor& tensor, const Sizes& sizes) {
  if (auto strides = ViewStrides(tensor.sizes(), tensor.strides(), sizes)) {
    return tensor.View(sizes, std::move(*strides), tensor.offset());
  }
  Tensor copy = tensor.Contiguous();
  return copy.View(sizes, ContiguousStrides(sizes), copy.offset());
}

Tensor FreshCopy(const Tensor& tensor) {
  Tensor copy = Tensor::Empty(tensor.dtype(), tensor.sizes());
  if (copy.defined()) copy.CopyFrom(tensor);
  return copy;
}

std::vector<int64_t> ElementOffsets(const Sizes& sizes, const Sizes& strides) {
  std::vector<int64_t> out = {0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> next;
    next.reserve(out.size() * static_cast<size_t>(sizes[d]));
    for (int64_t base : out) {
      for (int64_t i = 0; i < sizes[d]; ++i) {
        next.push_back(base + i * strides[d]);
      }
    }
    out = std::move(next);
  }
  return out;
}

// PyTorch's is_channels_last_strides: looks at the order of strides, not at
// their exact values, and takes contiguous as the answer in doubt.
static bool HasChannelsLastStrides(const Tensor& tensor) {
  const int64_t rank = tensor.dim();
  int64_t min = 0;
  if (tensor.stride(1) == 0) return false;
  Sizes order = {1};
  for (int64_t d = rank - 1; d >= 2; --d) order.push_back(d);
  order.push_back(0);
  for (int64_t d : order) {
    if (tensor.size(d) == 0) return false;
    if (tensor.stride(d) < min) return false;
    // N11...1 with ambiguous strides falls back to contiguous.
    if (d == 0 && min == tensor.stride(1)) return false;
    min = tensor.stride(d);
    if (tensor.size(d) > 1) min *= tensor.size(d);
  }
  return true;
}

MemoryFormat SuggestedFormat(const Tensor& tensor) {
  if (tensor.dim() == 4 && HasChannelsLastStrides(tensor)) {
    return MemoryFormat::kChannelsLast;
  }
  if (tensor.dim() == 5 && HasChannelsLastStrides(tensor)) {
    return MemoryFormat::kChannelsLast3d;
  }
  return MemoryFormat::kContiguous;
}

Sizes StridesFor(const Sizes& sizes, MemoryFormat format) {
  const bool channels_last =
      (format == MemoryFormat::kChannelsLast && sizes.size() == 4) ||
      (format == MemoryFormat::kChannelsLast3d && sizes.size() == 5);
  return channels_last ? ChannelsLastStrides(sizes) : ContiguousStrides(sizes);
}

bool IsContiguousIn(const Tensor& tensor, MemoryFormat format) {
  if (tensor.numel() == 0 && (format == MemoryFormat::kContiguous ||
                              format == MemoryFormat::kPreserve)) {
    return true;
  }
  const Sizes expected = StridesFor(tensor.sizes(), format);
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) != 1 && tensor.stride(d) != expected[d]) return false;
  }
  return true;
}

Tensor ContiguousIn(const Tensor& tensor, MemoryFormat format) {
  if (IsContiguousIn(tensor, format)) return tensor;
  Tensor out = Tensor::EmptyStrided(tensor.dtype(), tensor.sizes(),
                                    StridesFor(tensor.sizes(), format));
  if (out.defined()) out.CopyFrom(tensor);
  return out;
}

// Dimensions from the innermost outwards, in the order that TensorIterator
// gives them: a stable insertion sort in which a stride of 0 compares equal to
// any other.
static std::vector<int64_t> InnermostFirst(const Tensor& tensor) {
  std::vector<int64_t> order;
  for (int64_t d = tensor.dim() - 1; d >= 0; --d) order.push_back(d);
  const auto compare = [&](int64_t a, int64_t b) {
    const int64_t x = tensor.stride(a), y = tensor.stride(b);
    if (x == 0 || y == 0) return 0;
    if (x != y) return x < y ? -1 : 1;
    return tensor.size(a) > tensor.size(b) ? 1 : 0;
  };
  for (int64_t i = 1; i < tensor.dim(); ++i) {
    int64_t moving = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      const int comparison = compare(order[j], order[moving]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[j], order[moving]);
      moving = j;
    }
  }
  return order;
}

Sizes LikeStrides(const Tensor& tensor) {
  if (tensor.is_dense()) return tensor.strides();
  Sizes strides(tensor.sizes().size());
  int64_t stride = 1;
  for (int64_t d : InnermostFirst(tensor)) {
    strides[d] = stride;
    if (tensor.size(d) > 1) stride *= tensor.size(d);
  }
  return strides;
}

bool WrapDim(KernelCall& call, int64_t rank, int64_t* dim) {
  const int64_t range = std::max<int64_t>(rank, 1);
  if (*dim < -range || *dim >= range) {
    return call.Fail("dimension out of range (expected to be in range of [" +
                     std::to_string(-range) + ", " + std::to_string(range - 1) +
                     "], but got " + std::to_string(*dim) + ")");
  }
  if (*dim < 0) *dim += range;
  return true;
}

bool WrapDims(KernelCall& call, int64_t rank, Sizes* dims) {
  std::vector<bool> seen(std::max<int64_t>(rank, 1));
  for (int64_t& dim : *dims) {
    if (!WrapDim(call, rank, &dim)) return false;
    if (seen[dim]) {
      return call.Fail("dim " + std::to_string(dim) +
                       " appears multiple times in the list of dims");
    }
    seen[dim] = true;
  }
  return true;
}

bool CheckSizes(KernelCall& call, const Sizes& sizes) {
  int64_t numel = 1;
  for (int64_t size : sizes) {
    if (size < 0) {
      return call.Fail("negative size in " + ToText(sizes));
    }
    // Sizes of 0 count as 1 here: strides are products of max(size, 1).
    const auto product = CheckedMul(numel, std::max<int64_t>(size, 1));
    if (!product || *product > (int64_t{1} << 58)) {
      return call.Fail("sizes " + ToText(sizes) + " are too large");
    }
    numel = *product;
  }
  return true;
}

bool InferSizes(KernelCall& call, int64_t numel, Sizes* sizes) {
  const std::string shown = ToText(*sizes);
  int64_t known = 1, inferred = -1;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t size = (*sizes)[i];
    if (size == -1) {
      if (inferred >= 0) return call.Fail("only one dimension can be inferred");
      inferred = static_cast<int64_t>(i);
      continue;
    }
    if (size < 0) {
      return call.Fail("invalid shape dimension " + std::to_string(size));
    }
    const auto product = CheckedMul(known, size);
    if (!product) return call.Fail("shape " + shown + " is too large");
    known = *product;
  }
  if (inferred >= 0 && known == 0 && numel == 0) {
    return call.Fail("cannot reshape tensor of 0 elements into shape " + shown +
                     " because the size of -1 is ambiguous");
  }
  const bool fits =
      inferred >= 0 ? known > 0 && numel % known == 0 : known == numel;
  if (!fits) {
    return call.Fail("shape " + shown + " is invalid for input of size " +
                     std::to_string(numel));
  }
  if (inferred >= 0) (*sizes)[inferred] = numel / known;
  return CheckSizes(call, *sizes);
}

bool PrepareWrite(KernelCall& call, const Tensor& tensor) {
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) == 0 && tensor.size(d) > 1) {
      return call.Fail(
          "several elements of the written tensor share one "
          "memory location; clone it first");
    }
  }
  return tensor.storage()->MakeWritable() || call.Fail("out of memory");
}

bool AllocateZeros(KernelCall& call, DType dtype, const Sizes& sizes,
                   Tensor* out) {
  if (!CheckSizes(call, sizes)) return false;
  *out = Tensor::Zeros(dtype, sizes);
  if (out->defined()) return true;
  return call.Fail("can't allocate a tensor of sizes " + ToText(sizes));
}

}  // namespace tenon
