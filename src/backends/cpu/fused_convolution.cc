#include "backends/cpu/fused_convolution.h"

#include "backends/cpu/direct_convolution.h"
#include "backends/cpu/dnnl_convolution.h"

namespace tenon::cpu {
namespace {

size_t Aligned(size_t size_bytes) { return (size_bytes + 63) & ~size_t{63}; }

std::unique_ptr<ConvolutionKernel> MakeKernel(
    const FusedConvolutionShape& shape) {
  return HasDirectConvolution(shape) ? MakeDirectConvolution(shape)
                                     : MakeDnnlConvolution(shape);
}

}  // namespace

dnnl::memory::desc PlainWeight(const FusedConvolutionShape& s) {
  const int64_t in = s.in_channels / s.groups, h = s.kernel[0], w = s.kernel[1];
  dnnl::memory::dims sizes = {s.out_channels, in, h, w};
  dnnl::memory::dims strides =
      s.has_weight_channels_last ? dnnl::memory::dims{in * h * w, 1, w * in, in}
                                 : dnnl::memory::dims{in * h * w, h * w, w, 1};
  if (s.groups > 1) {
    sizes[0] /= s.groups;
    sizes.insert(sizes.begin(), s.groups);
    strides.insert(strides.begin(), sizes[1] * strides[0]);
  }
  return dnnl::memory::desc(sizes, dnnl::memory::data_type::f32, strides);
}

bool FusedConvolutionStep::IsFast(const FusedConvolutionShape& shape) {
  return HasDirectConvolution(shape) || HasDnnlConvolution(shape);
}

std::optional<size_t> FusedConvolutionStep::Prepare(PackedWeights& weights,
                                                    int use) {
  kernel_ = MakeKernel(shape_);
  if (kernel_ == nullptr) return std::nullopt;
  const dnnl::memory::desc plain = PlainWeight(shape_);
  if (kernel_->weight() != plain || shape_.has_scale) {
    const auto num_scales =
        static_cast<size_t>(shape_.has_scale ? shape_.out_channels : 0);
    packed_weight_ = weights.Find(plain, kernel_->weight(), shape_.weight,
                                  shape_.weight_source, num_scales, use);
    if (packed_weight_ == nullptr) return std::nullopt;
  }
  operands_.resize(shape_.post_ops.size());
  name_ = std::string(kernel_->name()) + std::string(operands_.size(), '+');
  bias_offset_ = Aligned(kernel_->scratch_bytes());
  const bool adds_up =
      shape_.has_bias && (shape_.has_shift || shape_.has_scale);
  const auto bias_bytes = static_cast<size_t>(shape_.out_channels) * 4;
  return bias_offset_ + (adds_up ? Aligned(bias_bytes) : 0) + 64;
}

float* FusedConvolutionStep::Bias(Frame& frame, std::byte* scratch) const {
  float* shift = shape_.has_shift ? frame.at<float>(shape_.shift) : nullptr;
  if (!shape_.has_bias) return shift;
  float* bias = frame.at<float>(shape_.bias);
  const float* scale =
      shape_.has_scale ? frame.at<float>(shape_.scale) : nullptr;
  if (shift == nullptr && scale == nullptr) return bias;
  float* sum = reinterpret_cast<float*>(scratch + bias_offset_);
  for (int64_t c = 0; c < shape_.out_channels; ++c) {
    sum[c] = scale != nullptr ? bias[c] * scale[c] : bias[c];
    if (shift != nullptr) sum[c] += shift[c];
  }
  return sum;
}

bool FusedConvolutionStep::Run(Frame& frame) {
  ConvolutionPointers p;
  p.scratch = frame.at<std::byte>(scratch_);
  const float* scale =
      shape_.has_scale ? frame.at<float>(shape_.scale) : nullptr;
  p.weight = packed_weight_ == nullptr
                 ? frame.at<void>(shape_.weight)
                 : packed_weight_->Get(frame, stream_, &held_weight_, scale);
  p.x = frame.at<float>(shape_.x);
  p.out = frame.at<float>(shape_.out);
  p.bias = Bias(frame, p.scratch);
  for (size_t i = 0; i < operands_.size(); ++i) {
    const ConvolutionPostOp& op = shape_.post_ops[i];
    const bool has_operand = op.kind != ConvolutionPostOp::Kind::kActivation;
    operands_[i] = has_operand ? frame.at<void>(op.operand) : nullptr;
  }
  p.operands = operands_;
  const bool ok = p.weight != nullptr && kernel_->Run(p);
  return ok || frame.Fail("oneDNN could not run a convolution");
}

}  // namespace tenon::cpu
