// Weights that are stored as integers.
//
//   %w = quantized_decomposed.dequantize_per_channel(%q, %s, %z, 0, ..)
//   %y = aten.linear(%x, %w)
//
// XNNPACK multiplies by the integers and scales the sums, so the numbers of %w
// are never made. It knows zero points of 0 only, and one scale per output
// channel, or per group of 32, 64, .. columns of four bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "tensor/tensor.h"
#include "xnnpack/stored_tensor.h"

namespace tenon::xnnpack {

struct QuantizedWeight {
  Tensor integers;            // int8
  std::vector<float> scales;  // one, one per slice along `axis`, or per group
  int64_t axis = 0;           // of slices with a scale each
  int64_t group = 0;     // columns that share a scale, of a matrix; 0: all do
  bool is_int4 = false;  // said to be in [-8, 7], and there

  bool is_per_tensor() const { return scales.size() == 1 && group == 0; }
};

// Whether an operator makes numbers of integers that may be a weight. Such
// nodes are left alone until it is known which of them XNNPACK takes in.
bool MayDequantizeWeight(const Program& program, NodeId node);

// The weight that a value is the numbers of. Nothing when the integers, scales
// and zero points aren't known, when a zero point isn't 0, or a scale isn't a
// positive normal number.
std::optional<QuantizedWeight> FindQuantizedWeight(const Program& program,
                                                   ValueId v,
                                                   const FindStored& stored);

// Its numbers, float32.
Tensor Dequantized(const QuantizedWeight& weight);

// Whether all integers lie in [-8, 7].
bool FitsInt4(const Tensor& integers);

}  // namespace tenon::xnnpack
