// Convolutions between tensors with their channels last, with the elementwise
// work that follows them done on the way out. Small ones are computed by own
// loops (direct_convolution.h), the others by oneDNN (dnnl_convolution.h).
//
// A step is planned in two moves. It is emitted with what the convolution
// alone computes. A pass over the plan (plan_fusion.cc) then gives it the
// elementwise steps that read its result and nobody else does, one by one:
//
//   batch norm   scale and shift of the output channels: the scale goes into
//                the weights as they are packed, the shift is the bias. Where
//                weights may change from run to run, both stay multiplications
//                and additions of the result.
//   activations, residual sums, gates: post-ops, as oneDNN calls them.
//
// Only then the kernel is chosen, and asked how much scratch memory it needs.
//
// A bound that oneDNN applies (relu, clamp) makes a number of what isn't one,
// where PyTorch's and the own loops' keep NaN. So a run whose inputs or weights
// aren't all finite has a plan without (PlanRequest::keeps_nan).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/packed_weights.h"

namespace tenon::cpu {

// Something done to each element of a convolution's result.
struct ConvolutionPostOp {
  enum class Kind : uint8_t {
    kActivation,  // algorithm, alpha, beta
    kChannel,     // algorithm with an operand per output channel
    kElement,     // algorithm with an operand that lies as the result does
    kSum,         // added to what lies in the result's place: `operand`
  };
  Kind kind = Kind::kActivation;
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0, beta = 0;
  Ref operand;
};

struct FusedConvolutionShape {
  int64_t batch = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of all groups
  int64_t in_size[2], out_size[2], kernel[2], stride[2], padding[2],
      dilation[2];
  // x and out are dense with their channels last, the weight is dense with its
  // output channels first, the bias contiguous.
  Ref x, weight, out;
  bool has_weight_channels_last = false;
  bool has_bias = false;
  Ref bias;
  WeightSource weight_source;
  // What the output channels are multiplied by, bias included, and what is
  // added then. A scale implies weights that packing once will do for.
  bool has_scale = false, has_shift = false;
  Ref scale, shift;
  std::vector<ConvolutionPostOp> post_ops;

  int64_t count() const {
    return batch * out_channels * out_size[0] * out_size[1];
  }
};

// The weight as the program has it.
dnnl::memory::desc PlainWeight(const FusedConvolutionShape& shape);

// What a run of a convolution reads and writes.
struct ConvolutionPointers {
  float* x = nullptr;
  void* weight = nullptr;  // packed, times the scale
  float* out = nullptr;
  float* bias = nullptr;            // null: none
  std::span<void* const> operands;  // by post-op; null where there is none
  std::byte* scratch = nullptr;
};

// The way in which a convolution is computed. The scale is in the weights, the
// shift in the bias.
class ConvolutionKernel {
 public:
  virtual ~ConvolutionKernel() = default;
  virtual std::string_view name() const = 0;
  // How it wants the weights.
  virtual dnnl::memory::desc weight() const = 0;
  // 64-byte aligned.
  virtual size_t scratch_bytes() const { return 0; }
  // False when oneDNN failed.
  virtual bool Run(const ConvolutionPointers& pointers) = 0;
};

class FusedConvolutionStep : public Step {
 public:
  // Whether there is a fast kernel for the shape.
  static bool IsFast(const FusedConvolutionShape& shape);

  explicit FusedConvolutionStep(FusedConvolutionShape shape)
      : shape_(std::move(shape)), stream_(DnnlEngine()) {}

  const FusedConvolutionShape& shape() const { return shape_; }
  // Before Prepare only.
  void set_shape(FusedConvolutionShape shape) { shape_ = std::move(shape); }

  // Gets the kernel, and the packed weights. The bytes of arena that a run
  // needs; none when oneDNN or memory fails. `use` tells the uses of one weight
  // in a plan apart.
  std::optional<size_t> Prepare(PackedWeights& weights, int use);
  // That much memory, 64-byte aligned.
  void set_scratch(Ref scratch) { scratch_ = scratch; }

  bool Run(Frame& frame) override;
  std::string_view name() const override { return name_; }

 private:
  // The bias of this run, null if there is none.
  float* Bias(Frame& frame, std::byte* scratch) const;

  FusedConvolutionShape shape_;
  std::string name_ = "convolution";
  std::unique_ptr<ConvolutionKernel> kernel_;
  std::shared_ptr<PackedWeight> packed_weight_;
  std::shared_ptr<PackedWeight::Copy> held_weight_;
  std::vector<void*> operands_;  // of a run's post-ops
  size_t bias_offset_ = 0;       // in the scratch memory
  Ref scratch_;
  dnnl::stream stream_;
};

}  // namespace tenon::cpu
