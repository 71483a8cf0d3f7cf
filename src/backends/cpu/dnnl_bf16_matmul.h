// Products of bfloat16 matrices by oneDNN, on machines that multiply bfloat16
// themselves: twice as fast as float32, with sums of float32. Weights that stay
// are packed once, as bfloat16.
#pragma once

#include <memory>

#include "backends/cpu/dnnl_matmul.h"

namespace tenon::cpu {

// `shape` is one product: A and B are bfloat16, C and the bias float32. Null
// when B may change from run to run, A has few rows, or oneDNN has no fast
// kernel.
std::unique_ptr<DnnlMatmul> PlanDnnlBf16Matmul(const MatmulShape& shape,
                                               const WeightSource& b,
                                               PackedWeights& weights);

}  // namespace tenon::cpu
