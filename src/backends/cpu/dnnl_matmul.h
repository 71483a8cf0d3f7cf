// Matrix products by oneDNN's own primitive, where it has a fast one for the
// machine: weights that stay are packed once, scratch memory is planned.
#pragma once

#include <memory>
#include <span>

#include "backends/cpu/gemm.h"
#include "backends/cpu/packed_weights.h"

namespace tenon::cpu {

class DnnlMatmul {
 public:
  virtual ~DnnlMatmul() = default;
  // Bytes of arena that a run needs.
  virtual size_t scratch_bytes() const = 0;
  // The step; `scratch` is that much memory, 64-byte aligned.
  virtual std::unique_ptr<Step> MakeStep(Ref scratch) = 0;
};

// Null when oneDNN has no fast kernel for the shape, or the product is so small
// that a plain loop is faster.
std::unique_ptr<DnnlMatmul> PlanDnnlMatmul(const MatmulShape& shape,
                                           const WeightSource& b,
                                           PackedWeights& weights);

}  // namespace tenon::cpu
