// State that no call changes, as tensors.
#pragma once

#include <functional>

#include "ir/program.h"
#include "tensor/tensor.h"

namespace tenon::xnnpack {

// A tensor over the bytes of such state, without a copy; undefined for values
// that are no inputs of the root, no such state, or have no usable bytes.
Tensor StoredTensor(const Program& program, ValueId v);

// The numbers of a value, where they are known: undefined otherwise. Of a whole
// program that is StoredTensor, of a region its constants.
using FindStored = std::function<Tensor(ValueId)>;

}  // namespace tenon::xnnpack
