// What autocast does to an operator's arguments, as PyTorch does it on the CPU:
// some operators compute in the lower precision, some in float32, some in the
// widest type of their operands; all others are left alone.
#pragma once

#include <string_view>
#include <vector>

#include "ir/kinds.h"
#include "tensor/value.h"

namespace tenon {

// `op` is an overload's name, "aten.matmul.default". Casts tensors in `args`.
void ApplyAutocast(DType lower, std::string_view op,
                   std::vector<RuntimeValue>* args);

}  // namespace tenon
