// Walks over a tensor's elements in row-major order as if it were contiguous,
// without a copy of it.
#pragma once

#include <functional>

#include "support/byte_cursor.h"
#include "tensor/tensor.h"

namespace tenon {

// Whole elements of every dtype.
constexpr size_t kRowMajorBlockBytes = size_t{1} << 20;

// Calls visit(Bytes) with the elements, block after block of
// kRowMajorBlockBytes, the last one shorter; not at all when there are none.
// Blocks of contiguous tensors lie in the storage, others in a buffer that the
// next block overwrites. What was visited is released where it lies in a mapped
// file (support/mapped_pages.h). Stops when visit returns false, and returns
// whether it didn't.
bool VisitRowMajor(const Tensor& tensor,
                   const std::function<bool(Bytes)>& visit);

// Whether the elements, in row-major order, are these bytes.
bool EqualsRowMajor(const Tensor& tensor, Bytes expected);

}  // namespace tenon
