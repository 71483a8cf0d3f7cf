// Convolutions by oneDNN, in the layouts that it likes best.
//
// Input and result lie in PyTorch's order, so each run reorders them; weights
// are packed once (packed_weights.h).
#pragma once

#include <memory>

#include "backends/cpu/packed_weights.h"

namespace tenon::cpu {

struct DnnlConvolutionShape {
  int64_t batch = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of all groups
  int64_t in_size[2], out_size[2], kernel[2], stride[2], padding[2],
      dilation[2];
  Ref x, weight, out;
  bool has_bias = false;
  Ref bias;
  WeightSource weight_source;
};

class DnnlConvolution {
 public:
  virtual ~DnnlConvolution() = default;
  // Bytes of arena that a run needs.
  virtual size_t scratch_bytes() const = 0;
  // The step; `scratch` is that much memory, 64-byte aligned.
  virtual std::unique_ptr<Step> MakeStep(Ref scratch) = 0;
};

// Null when oneDNN has no fast kernel for the shape.
std::unique_ptr<DnnlConvolution> PlanDnnlConvolution(
    const DnnlConvolutionShape& shape, PackedWeights& weights);

}  // namespace tenon::cpu
