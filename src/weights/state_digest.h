// Digests of weights: by value, whatever their layout in a file.
#pragma once

#include "ir/program.h"
#include "support/hash.h"
#include "tensor/tensor.h"

namespace tenon {

// Of a tensor's elements in row-major order. Reads all of them, in bounded
// memory.
Digest DigestOfElements(const Tensor& tensor);
// Of bytes; what DigestOfElements says of a contiguous tensor that they hold.
Digest DigestOfBytes(Bytes bytes);

// Of all state: each entry's name, dtype, sizes and elements, and whether it
// is in the state dict. The order of the table, strides, offsets and what
// shares a storage don't enter, so that moving a tensor keeps it; neither do
// elements that a weightless program lacks.
Digest StateDigest(const Program& program);

// Of a program with its weights: of its wiring digest (analysis/digest.h) and
// of its state.
Digest WholeDigest(const Digest& wiring, const Digest& state);

}  // namespace tenon
