// Tensors joined and repeated: cat, stack, block_diag, repeat, tile,
// repeat_interleave.
#include <algorithm>
#include <cmath>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/promotion.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

// --- joining ---

// 1-d tensors of size 0 join with anything, for old programs' sake.
bool IsSkipped(const Tensor& tensor) {
  return tensor.dim() == 1 && tensor.size(0) == 0;
}

bool CommonDType(KernelCall& call, const std::vector<Tensor>& tensors,
                 DType* out) {
  std::vector<Operand> operands;
  for (const Tensor& tensor : tensors) operands.push_back({tensor, false});
  *out = ResultType(operands);
  if (*out == DType::kUnknown) {
    return call.Fail("the tensors' dtypes have no common dtype");
  }
  return true;
}

MemoryFormat CommonFormat(const std::vector<Tensor>& tensors) {
  const MemoryFormat format = SuggestedFormat(tensors[0]);
  for (const Tensor& tensor : tensors) {
    if (SuggestedFormat(tensor) != format) return MemoryFormat::kContiguous;
  }
  return format;
}

bool CatTensors(KernelCall& call, const std::vector<Tensor>& tensors,
                int64_t dim, Tensor* out) {
  if (tensors.empty()) {
    return call.Fail("cat: expected a non-empty list of tensors");
  }
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() == 0) {
      return call.Fail("cat: 0-d tensors cannot be concatenated");
    }
    if (first == nullptr && !IsSkipped(tensor)) first = &tensor;
  }
  if (first == nullptr) first = &tensors[0];
  if (!WrapDim(call, first->dim(), &dim)) return false;
  Sizes sizes = first->sizes();
  sizes[dim] = 0;
  for (const Tensor& tensor : tensors) {
    if (IsSkipped(tensor)) continue;
    if (tensor.dim() != first->dim()) {
      return call.Fail("cat: tensors of rank " + std::to_string(first->dim()) +
                       " and " + std::to_string(tensor.dim()));
    }
    Sizes expected = sizes;
    expected[dim] = tensor.size(dim);
    if (tensor.sizes() != expected) {
      return call.Fail("cat: sizes " + ToText(tensor.sizes()) +
                       " don't match " + ToText(first->sizes()) +
                       " except in dimension " + std::to_string(dim));
    }
    sizes[dim] += tensor.size(dim);
  }
  DType dtype;
  if (!CommonDType(call, tensors, &dtype) ||
      !Allocate(call, dtype, sizes, StridesFor(sizes, CommonFormat(tensors)),
                out)) {
    return false;
  }
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (IsSkipped(tensor)) continue;
    Tensor part = Narrowed(*out, dim, start, tensor.size(dim));
    CopyCast(&part, tensor);
    start += tensor.size(dim);
  }
  return true;
}

bool ReturnCat(KernelCall& call, const std::vector<Tensor>& tensors,
               int64_t dim) {
  Tensor out;
  if (!CatTensors(call, tensors, dim, &out)) return false;
  call.Return(out);
  return true;
}

bool Cat(KernelCall& call) {
  return ReturnCat(call, call.Tensors(0), call.Int(1));
}

bool Stack(KernelCall& call) {
  std::vector<Tensor> tensors = call.Tensors(0);
  int64_t dim = call.Int(1);
  if (tensors.empty()) {
    return call.Fail("stack: expected a non-empty list of tensors");
  }
  if (!WrapDim(call, tensors[0].dim() + 1, &dim)) return false;
  for (const Tensor& tensor : tensors) {
    if (tensor.sizes() != tensors[0].sizes()) {
      return call.Fail(
          "stack: tensors differ in sizes: " + ToText(tensors[0].sizes()) +
          " and " + ToText(tensor.sizes()));
    }
  }
  if (dim == tensors[0].dim()) {
    for (Tensor& tensor : tensors) tensor = Unsqueezed(tensor, dim);
    return ReturnCat(call, tensors, dim);
  }
  // Inside, PyTorch joins along the dimension and splits it, which keeps
  // channels_last where a cat does.
  Sizes sizes = tensors[0].sizes();
  sizes.insert(sizes.begin() + dim, static_cast<int64_t>(tensors.size()));
  Tensor out;
  if (!CheckSizes(call, sizes) || !CatTensors(call, tensors, dim, &out)) {
    return false;
  }
  call.Return(Reshaped(out, sizes));
  return true;
}

// hstack, vstack, dstack: `kRank` dimensions at least, joined along `kDim`.
template <int kRank, int kDim>
bool NumpyStack(KernelCall& call) {
  RuntimeValue each;
  const char* at_least = kRank == 1   ? "aten.atleast_1d.Sequence"
                         : kRank == 2 ? "aten.atleast_2d.Sequence"
                                      : "aten.atleast_3d.Sequence";
  std::vector<RuntimeValue> results;
  if (call.Tensors(0).empty()) {
    return call.Fail("expected a non-empty list of tensors");
  }
  if (!CallKernel(call, at_least, {call.arg(0)}, &results)) return false;
  std::vector<Tensor> tensors;
  for (const RuntimeValue& value : results[0].list()) {
    tensors.push_back(value.tensor());
  }
  const bool flat = kRank == 1 && tensors[0].dim() == 1;
  return ReturnCat(call, tensors, flat ? 0 : kDim);
}

bool ColumnStack(KernelCall& call) {
  std::vector<Tensor> tensors = call.Tensors(0);
  if (tensors.empty()) {
    return call.Fail("column_stack: expected a non-empty list of tensors");
  }
  for (Tensor& tensor : tensors) {
    if (tensor.dim() <= 1) tensor = Reshaped(tensor, {tensor.numel(), 1});
  }
  return ReturnCat(call, tensors, 1);
}

bool BlockDiag(KernelCall& call) {
  std::vector<Tensor> tensors = call.Tensors(0);
  if (tensors.empty()) {
    Tensor empty;
    if (!AllocateZeros(call, DType::kFloat32, {1, 0}, &empty)) return false;
    call.Return(empty);
    return true;
  }
  Sizes sizes = {0, 0};
  DType dtype;
  if (!CommonDType(call, tensors, &dtype)) return false;
  for (Tensor& tensor : tensors) {
    if (tensor.dim() > 2) {
      return call.Fail("block_diag: expected tensors of at most 2 dimensions");
    }
    while (tensor.dim() < 2) tensor = Unsqueezed(tensor, 0);
    sizes[0] += tensor.size(0);
    sizes[1] += tensor.size(1);
  }
  Tensor out;
  if (!AllocateZeros(call, dtype, sizes, &out)) return false;
  int64_t row = 0, column = 0;
  for (const Tensor& tensor : tensors) {
    Tensor block = Narrowed(Narrowed(out, 0, row, tensor.size(0)), 1, column,
                            tensor.size(1));
    CopyCast(&block, tensor);
    row += tensor.size(0);
    column += tensor.size(1);
  }
  call.Return(out);
  return true;
}

// Each tensor is padded along `dim` to `num_chunks` equal chunks; chunks of
// all tensors with the same number lie side by side in the result.
bool ChunkCat(KernelCall& call) {
  const std::vector<Tensor> tensors = call.Tensors(0);
  int64_t dim = call.Int(1);
  const int64_t num_chunks = call.Int(2);
  if (tensors.empty()) return call.Fail("_chunk_cat: no tensors given");
  if (num_chunks < 1) {
    return call.Fail("_chunk_cat: expected a positive number of chunks");
  }
  if (!WrapDim(call, tensors[0].dim(), &dim)) return false;
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (tensor.numel() == 0) return call.Fail("_chunk_cat: empty tensor");
    if (tensor.dtype() != tensors[0].dtype() || tensor.dim() <= dim ||
        !std::equal(tensor.sizes().begin(), tensor.sizes().begin() + dim,
                    tensors[0].sizes().begin())) {
      return call.Fail("_chunk_cat: tensors differ in dtype or leading sizes");
    }
    Sizes sizes = tensor.sizes();
    if (num_chunks > (int64_t{1} << 40)) {
      return call.Fail("_chunk_cat: too many chunks");
    }
    const int64_t length = (sizes[dim] - 1) / num_chunks + 1;
    sizes[dim] = length * num_chunks;
    Tensor padded;
    if (!AllocateZeros(call, tensor.dtype(), sizes, &padded)) return false;
    Narrowed(padded, dim, 0, tensor.size(dim)).CopyFrom(tensor);
    int64_t rest = length;
    for (int64_t d = dim + 1; d < tensor.dim(); ++d) rest *= sizes[d];
    sizes.resize(dim);
    sizes.push_back(num_chunks);
    sizes.push_back(rest);
    parts.push_back(Reshaped(padded, sizes));
  }
  return ReturnCat(call, parts, dim + 1);
}

// --- repeating ---

// The output viewed as [repeat, size, repeat, size, ...] is the input expanded.
bool RepeatTensor(KernelCall& call, Tensor self, const Sizes& repeats) {
  if (static_cast<int64_t>(repeats.size()) < self.dim()) {
    return call.Fail("repeat: " + std::to_string(repeats.size()) +
                     " repeats for a tensor of rank " +
                     std::to_string(self.dim()));
  }
  while (self.dim() < static_cast<int64_t>(repeats.size())) {
    self = Unsqueezed(self, 0);
  }
  Sizes pairs, ones;
  for (size_t d = 0; d < repeats.size(); ++d) {
    pairs.push_back(repeats[d]);
    pairs.push_back(self.size(d));
    ones.push_back(1);
    ones.push_back(self.size(d));
  }
  if (!CheckSizes(call, pairs)) return false;
  Sizes sizes;
  for (size_t d = 0; d < repeats.size(); ++d) {
    sizes.push_back(pairs[2 * d] * pairs[2 * d + 1]);
  }
  Tensor out;
  if (!Allocate(call, self.dtype(), sizes, &out)) return false;
  Sizes strides;
  for (int64_t d = 0; d < self.dim(); ++d) {
    strides.push_back(0);
    strides.push_back(self.stride(d));
  }
  Reshaped(out, pairs).CopyFrom(self.View(pairs, strides, self.offset()));
  call.Return(out);
  return true;
}

bool Repeat(KernelCall& call) {
  return RepeatTensor(call, call.tensor(0), call.Ints(1));
}

bool Tile(KernelCall& call) {
  Sizes repeats = call.Ints(1);
  while (static_cast<int64_t>(repeats.size()) < call.tensor(0).dim()) {
    repeats.insert(repeats.begin(), 1);
  }
  return RepeatTensor(call, call.tensor(0), repeats);
}

bool RepeatInterleaveInt(KernelCall& call) {
  Tensor self = call.tensor(0);
  const int64_t repeats = call.Int(1);
  int64_t dim = call.is_none(2) ? 0 : call.Int(2);
  if (call.is_none(2) || self.dim() == 0) self = Reshaped(self, {self.numel()});
  if (!WrapDim(call, self.dim(), &dim)) return false;
  if (repeats < 0) return call.Fail("repeat_interleave: negative repeats");
  Sizes apart = self.sizes(), sizes = self.sizes();
  apart.insert(apart.begin() + dim + 1, repeats);
  if (!CheckSizes(call, apart)) return false;
  sizes[dim] *= repeats;
  if (!call.is_none(3) && call.Int(3) != sizes[dim]) {
    return call.Fail("repeat_interleave: output_size doesn't match");
  }
  Tensor out;
  if (!Allocate(call, self.dtype(), sizes, &out)) return false;
  Reshaped(out, apart).CopyFrom(ExpandTo(Unsqueezed(self, dim + 1), apart));
  call.Return(out);
  return true;
}

// [2, 0, 3] -> [0, 0, 2, 2, 2].
bool RepeatedIndices(KernelCall& call, const Tensor& repeats,
                     std::vector<int64_t>* out) {
  if (repeats.dim() != 1 ||
      (repeats.dtype() != DType::kInt64 && repeats.dtype() != DType::kInt32)) {
    return call.Fail(
        "repeat_interleave: repeats must be a 1-d int32 or int64 tensor");
  }
  const std::vector<int64_t> counts = ReadAll<int64_t>(repeats);
  int64_t total = 0;
  for (int64_t count : counts) {
    if (count < 0) return call.Fail("repeat_interleave: negative repeats");
    if (count > (int64_t{1} << 40) || total > (int64_t{1} << 40)) {
      return call.Fail("repeat_interleave: too many repeats");
    }
    total += count;
  }
  Tensor room;  // refuses what memory can't hold
  if (!Allocate(call, DType::kInt64, {total}, &room)) return false;
  out->reserve(static_cast<size_t>(total));
  for (size_t i = 0; i < counts.size(); ++i) {
    out->insert(out->end(), static_cast<size_t>(counts[i]),
                static_cast<int64_t>(i));
  }
  return true;
}

bool RepeatInterleave(KernelCall& call) {
  std::vector<int64_t> indices;
  if (!RepeatedIndices(call, call.tensor(0), &indices)) return false;
  Tensor out;
  if (!Allocate(call, call.tensor(0).dtype(),
                {static_cast<int64_t>(indices.size())}, &out)) {
    return false;
  }
  WriteAll(&out, indices);
  call.Return(out);
  return true;
}

bool RepeatInterleaveTensor(KernelCall& call) {
  Tensor self = call.tensor(0), repeats = call.tensor(1);
  int64_t dim = call.is_none(2) ? 0 : call.Int(2);
  if (call.is_none(2)) self = Reshaped(self, {self.numel()});
  if (!WrapDim(call, self.dim(), &dim)) return false;
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.size(0) == 1)) {
    repeats = ExpandTo(Reshaped(repeats, {1}), {size});
  }
  if (repeats.dim() != 1 || repeats.size(0) != size) {
    return call.Fail(
        "repeat_interleave: repeats must have the size of "
        "the input along dim");
  }
  std::vector<int64_t> indices;
  if (!RepeatedIndices(call, repeats, &indices)) return false;
  Tensor index;
  if (!Allocate(call, DType::kInt64, {static_cast<int64_t>(indices.size())},
                &index)) {
    return false;
  }
  WriteAll(&index, indices);
  return ForwardTo(call, "aten.index_select.default", {self, dim, index});
}

constexpr KernelEntry kEntries[] = {
    {"aten.cat.default", Cat},
    {"aten.concat.default", Cat},
    {"aten.concatenate.default", Cat},
    {"aten.stack.default", Stack},
    {"aten.hstack.default", NumpyStack<1, 1>},
    {"aten.vstack.default", NumpyStack<2, 0>},
    {"aten.row_stack.default", NumpyStack<2, 0>},
    {"aten.dstack.default", NumpyStack<3, 2>},
    {"aten.column_stack.default", ColumnStack},
    {"aten.block_diag.default", BlockDiag},
    {"aten._chunk_cat.default", ChunkCat},
    {"aten.repeat.default", Repeat},
    {"aten.tile.default", Tile},
    {"aten.repeat_interleave.self_int", RepeatInterleaveInt},
    {"aten.repeat_interleave.Tensor", RepeatInterleave},
    {"aten.repeat_interleave.self_Tensor", RepeatInterleaveTensor},
};

}  // namespace

std::span<const KernelEntry> ShapeJoinKernels() { return kEntries; }

}  // namespace tenon
