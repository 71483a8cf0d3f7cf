// Quotients and remainders with Python's rounding, as PyTorch computes them:
// of integers, and of floats step by step, so that the same bits come out.
#pragma once

#include <string>

#include "onnx/graph_builder.h"

namespace tenon::onnx {

// Both operands have one dtype.
std::string FloorDivide(GraphBuilder& build, const std::string& a,
                        const std::string& b);
std::string TruncDivide(GraphBuilder& build, const std::string& a,
                        const std::string& b);
// With the sign of the divisor.
std::string Remainder(GraphBuilder& build, const std::string& a,
                      const std::string& b);

}  // namespace tenon::onnx
