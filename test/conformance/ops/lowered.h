// Whether what an operator is lowered to computes what its kernel does (T-3).
#pragma once

#include <string>
#include <vector>

#include "ops/schema.h"
#include "tensor/value.h"

namespace tenon {

class OnnxCalls;

struct LoweredCounts {
  OnnxCalls* onnx = nullptr;  // writes every call as a model, too
  int agreed = 0;             // calls that a rewrite rule replaced
  int refused = 0;            // by the verifier, or by lowering, with an error
};

// Makes a program of the call, lowers it, runs it and compares with `results`,
// which are the kernel's and right. "" when they agree up to the tolerance,
// when no rule replaces the operator, and for operators that write or draw.
std::string CompareLowered(const OpSchema& schema,
                           const std::vector<RuntimeValue>& args,
                           const std::vector<bool>& present,
                           const std::vector<RuntimeValue>& results,
                           double rtol, double atol, LoweredCounts* counts);

}  // namespace tenon
