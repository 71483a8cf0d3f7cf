// Stored integers as the matrices and filters of XNNPACK's nodes.
#pragma once

#include <optional>
#include <vector>

#include "xnnpack/graph_builder.h"
#include "xnnpack/quantized_weight.h"

namespace tenon::xnnpack {

// Whether the weight of a product, [out, in] or (`is_transposed`) [in, out],
// has a scale per output, or one for all.
bool HasOutputScales(const QuantizedWeight& weight, bool is_transposed);
// Whether it has scales per group that XNNPACK knows, with rows quantised at
// run time.
bool HasKnownGroups(const QuantizedWeight& weight, bool is_transposed);

// A matrix [out, in] with HasOutputScales, of 8 bits, or of 4 where they do and
// may.
uint32_t AddMatrix(GraphBuilder* graph, const QuantizedWeight& weight,
                   bool is_transposed, bool may_pack);
// One with HasKnownGroups. XNNPACK has bfloat16 scales, and those of a program
// have more bits: then the matrix is the sum of up to three with the same
// integers, the scales' bits eight by eight. Where the builder rounds, it is
// one with the nearest scales.
std::vector<uint32_t> AddGroupMatrix(GraphBuilder* graph,
                                     const QuantizedWeight& weight);
// A filter that lies as its node wants it; `channel_dim` is the dimension of
// its outputs.
uint32_t AddFilter(GraphBuilder* graph, const QuantizedWeight& weight,
                   const Tensor& laid_out, int32_t channel_dim);

// The bias of a node on integers: int32, in units of the products that it is
// added to. Nothing when the rounding would move a result by more than
// `max_shift` of a step of `output`, or the numbers don't fit. `bias`
// undefined: zeros.
struct IntegerProduct {
  PerTensorQuant input, output;
  double max_shift = 0;
};
std::optional<Tensor> RoundedBias(const QuantizedWeight& weight,
                                  const Tensor& bias, int64_t num_outputs,
                                  const IntegerProduct& product);
uint32_t AddIntegerBias(GraphBuilder* graph, const QuantizedWeight& weight,
                        const Tensor& rounded, float input_scale);

}  // namespace tenon::xnnpack
