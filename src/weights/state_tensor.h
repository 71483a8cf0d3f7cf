// State entries as tensors over the bytes that the program holds.
#pragma once

#include <string>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"
#include "tensor/tensor.h"

namespace tenon {

// Whether the entry is a tensor whose elements lie in its storage, or would if
// the storage had its bytes: no object, no pickle.
bool IsPlainTensor(const Program& program, const StateEntry& entry);

// A view of the entry's storage; nothing is copied and no weight is touched.
// Undefined for what isn't a plain tensor, for weightless storages, and for a
// view that doesn't fit (a program that the verifier refuses).
Tensor StateTensor(const Program& program, const StateEntry& entry);

// A view of `bytes`, which `owner` keeps, with the type's sizes and strides.
Tensor TensorOver(const Type& type, Bytes bytes,
                  std::shared_ptr<const void> owner);

// Strides of 0 let a storage of few bytes be a tensor of any size, whose
// elements nobody wants to walk over. Reports tensors of more than 1 GiB that
// are kMaxExpansion times as large as their storages. For a program that the
// verifier accepts.
constexpr uint64_t kMaxExpansion = 256;
Status CheckExpansion(const Program& program, Diagnostics& diags);

// The sizes of a type whose sizes are literals.
Sizes LiteralSizes(const Type& type);

}  // namespace tenon
