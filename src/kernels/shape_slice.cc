// Views of a part: slice, select, narrow, and the splits of a dimension.
#include <algorithm>

#include "kernels/compose.h"
#include "kernels/registry.h"
#include "kernels/view_forms.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// `tensor[start:end:step]` along dim, with Python's clamping.
Tensor SliceClamped(const Tensor& tensor, int64_t dim, int64_t start,
                    int64_t end, int64_t step) {
  const int64_t size = tensor.size(dim);
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp<int64_t>(end, start, size);
  const int64_t length = (end - start) / step + ((end - start) % step != 0);
  return Narrowed(tensor, dim, start, length, step);
}

bool Slice(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t dim = call.Int(1);
  if (self.dim() == 0) return call.Fail("slice of a 0-d tensor");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const int64_t start = call.is_none(2) ? 0 : call.Int(2);
  const int64_t end = call.is_none(3) ? INT64_MAX : call.Int(3);
  const int64_t step = call.Int(4);
  if (step <= 0) return call.Fail("slice step must be positive");
  call.Return(SliceClamped(self, dim, start, end, step));
  return true;
}

bool Select(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t dim = call.Int(1), index = call.Int(2);
  if (self.dim() == 0) return call.Fail("select of a 0-d tensor");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const int64_t size = self.size(dim);
  if (index < -size || index >= size) {
    return call.Fail("select: index " + std::to_string(index) +
                     " out of range for sizes " + ToText(self.sizes()) +
                     " at dimension " + std::to_string(dim));
  }
  call.Return(Selected(self, dim, index < 0 ? index + size : index));
  return true;
}

bool ReturnNarrowed(KernelCall& call, int64_t start) {
  const Tensor& self = call.tensor(0);
  int64_t dim = call.Int(1);
  const int64_t length = call.Int(3);
  if (self.dim() == 0) return call.Fail("narrow of a 0-d tensor");
  if (length < 0) return call.Fail("narrow: length must be non-negative");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const int64_t size = self.size(dim);
  if (start < -size || start > size) {
    return call.Fail("narrow: start " + std::to_string(start) +
                     " out of range for size " + std::to_string(size));
  }
  if (start < 0) start += size;
  if (length > size - start) {
    return call.Fail("narrow: start " + std::to_string(start) + " and length " +
                     std::to_string(length) + " exceed size " +
                     std::to_string(size));
  }
  call.Return(Narrowed(self, dim, start, length));
  return true;
}

bool Narrow(KernelCall& call) { return ReturnNarrowed(call, call.Int(2)); }

bool NarrowTensor(KernelCall& call) {
  const Tensor& start = call.tensor(2);
  if (start.dim() != 0 || !IsIntegral(start.dtype())) {
    return call.Fail("narrow: start must be a 0-d integral tensor");
  }
  return ReturnNarrowed(call, call.Int(2));
}

// Cuts `dim` at the running sums of `lengths`, which cover it exactly.
bool ReturnPieces(KernelCall& call, int64_t dim,
                  const std::vector<int64_t>& lengths) {
  std::vector<Tensor> pieces;
  int64_t start = 0;
  for (int64_t length : lengths) {
    pieces.push_back(Narrowed(call.tensor(0), dim, start, length));
    start += length;
  }
  call.Return(TensorList(pieces));
  return true;
}

// As many pieces of `length` as it takes, the last perhaps shorter.
bool SplitEvery(KernelCall& call, int64_t dim, int64_t length) {
  const int64_t size = call.tensor(0).size(dim);
  if (length < 0) return call.Fail("split: negative split size");
  if (length == 0 && size != 0) {
    return call.Fail("split: a split size of 0 needs a dimension of size 0");
  }
  std::vector<int64_t> lengths;
  for (int64_t start = 0; start < size; start += length) {
    lengths.push_back(std::min(length, size - start));
    if (length > size) break;
  }
  if (lengths.empty()) lengths.push_back(0);
  return ReturnPieces(call, dim, lengths);
}

bool Split(KernelCall& call) {
  int64_t dim = call.Int(2);
  if (call.tensor(0).dim() == 0) return call.Fail("split of a 0-d tensor");
  if (!WrapDim(call, call.tensor(0).dim(), &dim)) return false;
  return SplitEvery(call, dim, call.Int(1));
}

bool SplitWithSizes(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const std::vector<int64_t> lengths = call.Ints(1);
  int64_t dim = call.Int(2);
  if (self.dim() == 0) return call.Fail("split of a 0-d tensor");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  int64_t left = self.size(dim);
  for (int64_t length : lengths) {
    if (length < 0 || length > left) {
      left = -1;
      break;
    }
    left -= length;
  }
  if (left != 0) {
    return call.Fail("split_with_sizes: split sizes " + ToText(lengths) +
                     " do not sum to " + std::to_string(self.size(dim)));
  }
  return ReturnPieces(call, dim, lengths);
}

bool Chunk(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const int64_t chunks = call.Int(1);
  int64_t dim = call.Int(2);
  if (self.dim() == 0) return call.Fail("chunk of a 0-d tensor");
  if (chunks <= 0) return call.Fail("chunk: expected at least one chunk");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const int64_t size = self.size(dim);
  if (size == 0) {
    if (chunks > (int64_t{1} << 20)) return call.Fail("chunk: too many chunks");
    return ReturnPieces(call, dim, std::vector<int64_t>(chunks, 0));
  }
  return SplitEvery(call, dim, (size - 1) / chunks + 1);
}

// `sections` pieces whose lengths differ by at most one, longer ones first.
bool SplitIntoSections(KernelCall& call, int64_t dim, int64_t sections) {
  if (sections <= 0) {
    return call.Fail("tensor_split: number of sections must be positive");
  }
  if (sections > (int64_t{1} << 20)) {
    return call.Fail("tensor_split: too many sections");
  }
  const int64_t size = call.tensor(0).size(dim);
  std::vector<int64_t> lengths(sections, size / sections);
  for (int64_t i = 0; i < size % sections; ++i) ++lengths[i];
  return ReturnPieces(call, dim, lengths);
}

bool SplitAtIndices(KernelCall& call, int64_t dim,
                    const std::vector<int64_t>& indices) {
  const Tensor& self = call.tensor(0);
  std::vector<Tensor> pieces;
  int64_t start = 0;
  for (int64_t end : indices) {
    pieces.push_back(SliceClamped(self, dim, start, end, 1));
    start = end;
  }
  pieces.push_back(SliceClamped(self, dim, start, self.size(dim), 1));
  call.Return(TensorList(pieces));
  return true;
}

bool TensorSplitDim(KernelCall& call, int64_t* dim) {
  const Tensor& self = call.tensor(0);
  if (self.dim() == 0) return call.Fail("tensor_split of a 0-d tensor");
  *dim = call.Int(2);
  return WrapDim(call, self.dim(), dim);
}

bool TensorSplitSections(KernelCall& call) {
  int64_t dim;
  return TensorSplitDim(call, &dim) &&
         SplitIntoSections(call, dim, call.Int(1));
}

bool TensorSplitIndices(KernelCall& call) {
  int64_t dim;
  return TensorSplitDim(call, &dim) && SplitAtIndices(call, dim, call.Ints(1));
}

bool TensorSplitTensor(KernelCall& call) {
  int64_t dim;
  if (!TensorSplitDim(call, &dim)) return false;
  const Tensor& given = call.tensor(1);
  if (given.dtype() != DType::kInt64 || given.dim() > 1) {
    return call.Fail(
        "tensor_split: expected a 0-d or 1-d int64 tensor of indices");
  }
  const Tensor values = given.Contiguous();
  const int64_t* data = values.data<int64_t>();
  if (given.dim() == 0) return SplitIntoSections(call, dim, data[0]);
  return SplitAtIndices(call, dim, {data, data + values.numel()});
}

// hsplit, vsplit, dsplit split dimension 1 (0 for 1-d), 0 and 2.
template <int kDim>
bool NumpySplitDim(KernelCall& call, int64_t* dim) {
  const int64_t rank = call.tensor(0).dim();
  const int64_t needed = kDim == 1 ? 1 : kDim == 0 ? 2 : 3;
  if (rank < needed) {
    return call.Fail("split: expected at least " + std::to_string(needed) +
                     " dimensions, found " + std::to_string(rank));
  }
  *dim = kDim == 1 && rank == 1 ? 0 : kDim;
  return true;
}

template <int kDim>
bool NumpySplitInt(KernelCall& call) {
  int64_t dim;
  if (!NumpySplitDim<kDim>(call, &dim)) return false;
  const int64_t sections = call.Int(1);
  if (sections == 0 || call.tensor(0).size(dim) % sections != 0) {
    return call.Fail("split: size " + std::to_string(call.tensor(0).size(dim)) +
                     " is not divisible by " + std::to_string(sections));
  }
  return SplitIntoSections(call, dim, sections);
}

template <int kDim>
bool NumpySplitArray(KernelCall& call) {
  int64_t dim;
  return NumpySplitDim<kDim>(call, &dim) &&
         SplitAtIndices(call, dim, call.Ints(1));
}

bool Unbind(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  int64_t dim = call.Int(1);
  if (self.dim() == 0) return call.Fail("unbind of a 0-d tensor");
  if (!WrapDim(call, self.dim(), &dim)) return false;
  std::vector<Tensor> pieces;
  for (int64_t i = 0; i < self.size(dim); ++i) {
    pieces.push_back(Selected(self, dim, i));
  }
  call.Return(TensorList(pieces));
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.slice.Tensor", Slice},
    {"aten.slice_copy.Tensor", CopyOf<Slice>},
    {"aten.select.int", Select},
    {"aten.select_copy.int", CopyOf<Select>},
    {"aten.narrow.default", Narrow},
    {"aten.narrow.Tensor", NarrowTensor},
    {"aten.narrow_copy.default", CopyOf<Narrow>},
    {"aten.split.Tensor", Split},
    {"aten.split.sizes", SplitWithSizes},
    {"aten.split_copy.Tensor", CopyOf<Split>},
    {"aten.unsafe_split.Tensor", Split},
    {"aten.split_with_sizes.default", SplitWithSizes},
    {"aten.split_with_sizes_copy.default", CopyOf<SplitWithSizes>},
    {"aten.unsafe_split_with_sizes.default", SplitWithSizes},
    {"aten.chunk.default", Chunk},
    {"aten.unsafe_chunk.default", Chunk},
    {"aten.tensor_split.sections", TensorSplitSections},
    {"aten.tensor_split.indices", TensorSplitIndices},
    {"aten.tensor_split.tensor_indices_or_sections", TensorSplitTensor},
    {"aten.hsplit.int", NumpySplitInt<1>},
    {"aten.hsplit.array", NumpySplitArray<1>},
    {"aten.vsplit.int", NumpySplitInt<0>},
    {"aten.vsplit.array", NumpySplitArray<0>},
    {"aten.dsplit.int", NumpySplitInt<2>},
    {"aten.dsplit.array", NumpySplitArray<2>},
    {"aten.unbind.int", Unbind},
    {"aten.unbind_copy.int", CopyOf<Unbind>},
};

}  // namespace

std::span<const KernelEntry> ShapeSliceKernels() { return kEntries; }

}  // namespace tenon
