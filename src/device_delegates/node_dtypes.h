// What both delegates of devices ask of a node's operands and results.
#pragma once

#include <cstddef>
#include <optional>

#include "backends/backend.h"
#include "ir/program.h"

namespace tenon {

// Whether a tensor of that dtype can be an argument of the stock CUDA and
// TensorRT delegates.
bool IsDeviceDtype(DType dtype);

// A refusal for operands and results of other dtypes or more dimensions, and
// for numbers as results, which no delegate on a device can give.
std::optional<Refusal> RefusesTypes(const Program& program, NodeId node,
                                    size_t max_rank);

}  // namespace tenon
