// Views of a tensor: the arithmetic of sizes, strides and offsets that the
// view operators share. Nothing here copies bytes except where it says so.
//
// Dimensions are already wrapped (0 <= dim < rank) and indices in range; the
// operators check first, with the functions at the end.
#pragma once

#include <optional>
#include <vector>

#include "kernels/broadcast.h"
#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace tenon {

Tensor Transposed(const Tensor& tensor, int64_t dim0, int64_t dim1);
Tensor Permuted(const Tensor& tensor, const Sizes& dims);
// Drops `dim`.
Tensor Selected(const Tensor& tensor, int64_t dim, int64_t index);
// `length` elements of `dim` from `start`, every `step`-th.
Tensor Narrowed(const Tensor& tensor, int64_t dim, int64_t start,
                int64_t length, int64_t step = 1);
// A dimension of size 1 before `dim` (0 <= dim <= rank).
Tensor Unsqueezed(const Tensor& tensor, int64_t dim);
// Drops `dim` where its size is 1.
Tensor Squeezed(const Tensor& tensor, int64_t dim);
// Null when the sizes don't broadcast. -1 keeps a dimension.
std::optional<Tensor> Expanded(const Tensor& tensor, const Sizes& sizes);

// Strides under which a view of `new_sizes` shows the same elements in the
// same order; null when only a copy can. The element counts are equal.
std::optional<Sizes> ViewStrides(const Sizes& sizes, const Sizes& strides,
                                 const Sizes& new_sizes);
// A view if there is one, else a contiguous copy. Element counts are equal.
Tensor Reshaped(const Tensor& tensor, const Sizes& sizes);

// A contiguous copy, always; undefined when memory runs out.
Tensor FreshCopy(const Tensor& tensor);
// Storage offsets of all elements in row-major order, relative to the first.
std::vector<int64_t> ElementOffsets(const Sizes& sizes, const Sizes& strides);

// --- memory formats ---

// The format that PyTorch's suggest_memory_format derives from the strides.
MemoryFormat SuggestedFormat(const Tensor& tensor);
Sizes StridesFor(const Sizes& sizes, MemoryFormat format);
// The tensor itself if its strides are those of `format`, else a copy.
Tensor ContiguousIn(const Tensor& tensor, MemoryFormat format);
bool IsContiguousIn(const Tensor& tensor, MemoryFormat format);
// Strides of a new tensor "like" this one (empty_like, preserve_format): its
// own when dense, else dense ones in the same order of dimensions.
Sizes LikeStrides(const Tensor& tensor);

// --- checks; each fails the call and returns false ---

// Wraps a negative dim; rank 0 counts as rank 1, as in PyTorch.
bool WrapDim(KernelCall& call, int64_t rank, int64_t* dim);
// Wraps each and refuses repeated ones.
bool WrapDims(KernelCall& call, int64_t rank, Sizes* dims);
// Non-negative sizes whose product fits.
bool CheckSizes(KernelCall& call, const Sizes& sizes);
// Replaces the one -1 by what the element count leaves.
bool InferSizes(KernelCall& call, int64_t numel, Sizes* sizes);
// Makes the storage writable; refuses tensors whose elements overlap.
bool PrepareWrite(KernelCall& call, const Tensor& tensor);
// A new tensor of zeros; fails the call when memory doesn't allow it.
bool AllocateZeros(KernelCall& call, DType dtype, const Sizes& sizes,
                   Tensor* out);

}  // namespace tenon
