// Scalars at the boundary of a delegate whose backend takes 0-d tensors in
// their place (rule D-5).
#pragma once

#include <span>
#include <vector>

#include "ir/program.h"
#include "tensor/value.h"

namespace tenon {

// Ints become int64, floats float64, bools bool tensors of no dimension; other
// values stay.
std::vector<RuntimeValue> ScalarsAsTensors(
    std::span<const RuntimeValue> values);

// The inverse, for results whose declared type is a scalar.
void TensorsAsScalars(const Program& program, std::span<const TypeId> types,
                      std::vector<RuntimeValue>* results);

}  // namespace tenon
