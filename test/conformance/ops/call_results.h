// The results of a recorded call as what a program of it returns.
#pragma once

#include <vector>

#include "conformance/ops/call_program.h"
#include "ops/schema.h"
#include "tensor/value.h"

namespace tenon {

// With the items of lists in the place of lists.
std::vector<RuntimeValue> FlatResults(const std::vector<RuntimeValue>& results);

// Whether a program of the call would give these results again: it neither
// writes nor draws, and gives tensors.
bool IsComparable(const OpSchema& schema,
                  const std::vector<RuntimeValue>& flat);

// States the results' types, returns them, and fills the signature in.
void ReturnResults(CallProgram* call, NodeId n,
                   const std::vector<RuntimeValue>& results,
                   const std::vector<RuntimeValue>& flat);

}  // namespace tenon
