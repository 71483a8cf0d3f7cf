#include "backends/cpu/dnnl_convolution.h"

#include <algorithm>
#include <utility>

namespace tenon::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr auto kFloat = memory::data_type::f32;

size_t Aligned(size_t size_bytes) { return (size_bytes + 63) & ~size_t{63}; }

memory::desc ResultOf(const DnnlConvolutionShape& s) {
  return memory::desc({s.batch, s.out_channels, s.out_size[0], s.out_size[1]},
                      kFloat, Tag::nhwc);
}

bool HasArgument(const ConvolutionPostOp& op) {
  return op.kind == ConvolutionPostOp::Kind::kChannel ||
         op.kind == ConvolutionPostOp::Kind::kElement;
}

memory::desc PerChannel(const DnnlConvolutionShape& s) {
  return memory::desc({1, s.out_channels, 1, 1}, kFloat, Tag::nhwc);
}

// As the program has it, or in the order that the kernel asks for.
memory::desc WeightOf(const DnnlConvolutionShape& s, bool is_packed) {
  const int64_t in = s.in_channels / s.groups, h = s.kernel[0], w = s.kernel[1];
  memory::dims sizes = {s.out_channels, in, h, w};
  memory::dims strides = s.has_weight_channels_last
                             ? memory::dims{in * h * w, 1, w * in, in}
                             : memory::dims{in * h * w, h * w, w, 1};
  if (s.groups > 1) {
    sizes[0] /= s.groups;
    sizes.insert(sizes.begin(), s.groups);
    strides.insert(strides.begin(), sizes[1] * strides[0]);
  }
  return is_packed ? memory::desc(sizes, kFloat, Tag::any)
                   : memory::desc(sizes, kFloat, strides);
}

// Whether a post-op reads a value per channel, or looks as if it did.
// oneDNN 2.6 applies them wrongly in its brdgmm kernels for depthwise
// convolutions.
bool HasChannelOperand(const DnnlConvolutionShape& s) {
  return std::any_of(s.post_ops.begin(), s.post_ops.end(),
                     [&](const ConvolutionPostOp& op) {
                       return op.kind == ConvolutionPostOp::Kind::kChannel ||
                              (op.kind == ConvolutionPostOp::Kind::kElement &&
                               s.count() == s.out_channels);
                     });
}

dnnl::primitive_attr AttributesOf(const DnnlConvolutionShape& s) {
  using Kind = ConvolutionPostOp::Kind;
  dnnl::post_ops ops;
  for (const ConvolutionPostOp& op : s.post_ops) {
    switch (op.kind) {
      case Kind::kActivation:
        ops.append_eltwise(1.0f, op.algorithm, op.alpha, op.beta);
        break;
      case Kind::kChannel:
        ops.append_binary(op.algorithm, PerChannel(s));
        break;
      case Kind::kElement:
        ops.append_binary(op.algorithm, ResultOf(s));
        break;
      case Kind::kSum:
        ops.append_sum(1.0f);
        break;
    }
  }
  dnnl::primitive_attr attributes = ScratchInArena();
  attributes.set_post_ops(ops);
  return attributes;
}

dnnl::convolution_forward::primitive_desc Describe(
    const DnnlConvolutionShape& s) {
  const memory::desc x({s.batch, s.in_channels, s.in_size[0], s.in_size[1]},
                       kFloat, Tag::nhwc);
  const memory::desc out = ResultOf(s);
  const memory::desc weight = WeightOf(s, true);
  const memory::desc bias({s.out_channels}, kFloat, Tag::a);
  const memory::dims strides = {s.stride[0], s.stride[1]};
  const memory::dims dilates = {s.dilation[0] - 1, s.dilation[1] - 1};
  const memory::dims before = {s.padding[0], s.padding[1]};
  memory::dims after;
  for (int d = 0; d < 2; ++d) {
    after.push_back((s.out_size[d] - 1) * s.stride[d] +
                    (s.kernel[d] - 1) * s.dilation[d] + 1 - s.in_size[d] -
                    s.padding[d]);
  }
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
  const auto desc =
      s.has_bias || s.has_shift
          ? dnnl::convolution_forward::desc(kKind, kAlgorithm, x, weight, bias,
                                            out, strides, dilates, before,
                                            after)
          : dnnl::convolution_forward::desc(kKind, kAlgorithm, x, weight, out,
                                            strides, dilates, before, after);
  return dnnl::convolution_forward::primitive_desc(desc, AttributesOf(s),
                                                   DnnlEngine());
}

}  // namespace

bool DnnlConvolutionStep::IsFast(const DnnlConvolutionShape& shape) {
  // oneDNN's C++ interface says by an exception that it has no kernel.
  try {
    const std::string kernel = Describe(shape).impl_info_str();
    if (kernel.find("brdgmm") != std::string::npos &&
        HasChannelOperand(shape)) {
      return false;
    }
    return kernel.find("ref") == std::string::npos &&
           kernel.find("gemm") == std::string::npos;
  } catch (const dnnl::error&) {
    return false;
  }
}

std::optional<size_t> DnnlConvolutionStep::Prepare(PackedWeights& weights,
                                                   int use) try {
  const auto desc = Describe(shape_);
  const memory::desc plain = WeightOf(shape_, false);
  std::vector<std::pair<int, memory::desc>> arguments = {
      {DNNL_ARG_SRC, desc.src_desc()},
      {DNNL_ARG_WEIGHTS, desc.weights_desc()},
      {DNNL_ARG_DST, desc.dst_desc()},
      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
  if (shape_.has_bias || shape_.has_shift) {
    arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc()});
  }
  for (size_t i = 0; i < shape_.post_ops.size(); ++i) {
    const ConvolutionPostOp& op = shape_.post_ops[i];
    if (!HasArgument(op)) continue;
    const bool is_channel = op.kind == ConvolutionPostOp::Kind::kChannel;
    arguments.push_back(
        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
         is_channel ? PerChannel(shape_) : ResultOf(shape_)});
  }
  if (desc.weights_desc() != plain || shape_.has_scale) {
    const auto num_scales =
        static_cast<size_t>(shape_.has_scale ? shape_.out_channels : 0);
    packed_weight_ = weights.Find(plain, desc.weights_desc(), shape_.weight,
                                  shape_.weight_source, num_scales, use);
    if (packed_weight_ == nullptr) return std::nullopt;
  }
  convolution_ = PrimitiveCall(dnnl::convolution_forward(desc), arguments);
  pointers_.resize(arguments.size());
  for (size_t i = 0; i < shape_.post_ops.size(); ++i) name_ += "+";
  bias_offset_ = Aligned(desc.scratchpad_desc().get_size());
  const bool adds_up =
      shape_.has_bias && (shape_.has_shift || shape_.has_scale);
  const auto bias_bytes = static_cast<size_t>(shape_.out_channels) * 4;
  return bias_offset_ + (adds_up ? Aligned(bias_bytes) : 0) + 64;
} catch (const dnnl::error&) {
  return std::nullopt;
}

float* DnnlConvolutionStep::Bias(Frame& frame, std::byte* scratch) const {
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

bool DnnlConvolutionStep::Run(Frame& frame) {
  std::byte* scratch = frame.at<std::byte>(scratch_);
  const float* scale =
      shape_.has_scale ? frame.at<float>(shape_.scale) : nullptr;
  void* weight =
      packed_weight_ == nullptr
          ? frame.at<void>(shape_.weight)
          : packed_weight_->Get(frame, stream_, &held_weight_, scale);
  size_t next = 0;
  pointers_[next++] = frame.at<void>(shape_.x);
  pointers_[next++] = weight;
  pointers_[next++] = frame.at<void>(shape_.out);
  pointers_[next++] = scratch;
  if (shape_.has_bias || shape_.has_shift) {
    pointers_[next++] = Bias(frame, scratch);
  }
  for (const ConvolutionPostOp& op : shape_.post_ops) {
    if (HasArgument(op)) pointers_[next++] = frame.at<void>(op.operand);
  }
  const bool ok = weight != nullptr && convolution_.Run(stream_, pointers_);
  return ok || frame.Fail("oneDNN could not run a convolution");
}

}  // namespace tenon::cpu
