#include "backends/cpu/dnnl_convolution.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tenon::cpu {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr auto kFloat = memory::data_type::f32;

memory::desc ResultOf(const FusedConvolutionShape& s) {
  return memory::desc({s.batch, s.out_channels, s.out_size[0], s.out_size[1]},
                      kFloat, Tag::nhwc);
}

bool HasArgument(const ConvolutionPostOp& op) {
  return op.kind == ConvolutionPostOp::Kind::kChannel ||
         op.kind == ConvolutionPostOp::Kind::kElement;
}

memory::desc PerChannel(const FusedConvolutionShape& s) {
  return memory::desc({1, s.out_channels, 1, 1}, kFloat, Tag::nhwc);
}

// Whether a post-op reads a value per channel, or looks as if it did.
// oneDNN 2.6 applies them wrongly in its brdgmm kernels for depthwise
// convolutions.
bool HasChannelOperand(const FusedConvolutionShape& s) {
  return std::any_of(s.post_ops.begin(), s.post_ops.end(),
                     [&](const ConvolutionPostOp& op) {
                       return op.kind == ConvolutionPostOp::Kind::kChannel ||
                              (op.kind == ConvolutionPostOp::Kind::kElement &&
                               s.count() == s.out_channels);
                     });
}

dnnl::primitive_attr AttributesOf(const FusedConvolutionShape& s) {
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
    const FusedConvolutionShape& s) {
  const memory::desc x({s.batch, s.in_channels, s.in_size[0], s.in_size[1]},
                       kFloat, Tag::nhwc);
  const memory::desc out = ResultOf(s);
  const memory::desc weight(PlainWeight(s).dims(), kFloat, Tag::any);
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

class DnnlConvolution : public ConvolutionKernel {
 public:
  explicit DnnlConvolution(const FusedConvolutionShape& s)
      : desc_(Describe(s)),
        has_bias_(s.has_bias || s.has_shift),
        stream_(DnnlEngine()) {
    std::vector<std::pair<int, memory::desc>> arguments = {
        {DNNL_ARG_SRC, desc_.src_desc()},
        {DNNL_ARG_WEIGHTS, desc_.weights_desc()},
        {DNNL_ARG_DST, desc_.dst_desc()},
        {DNNL_ARG_SCRATCHPAD, desc_.scratchpad_desc()}};
    if (has_bias_) arguments.push_back({DNNL_ARG_BIAS, desc_.bias_desc()});
    for (size_t i = 0; i < s.post_ops.size(); ++i) {
      const ConvolutionPostOp& op = s.post_ops[i];
      has_argument_.push_back(HasArgument(op));
      if (!HasArgument(op)) continue;
      const bool is_channel = op.kind == ConvolutionPostOp::Kind::kChannel;
      arguments.push_back(
          {DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
           is_channel ? PerChannel(s) : ResultOf(s)});
    }
    pointers_.resize(arguments.size());
    call_ = PrimitiveCall(dnnl::convolution_forward(desc_), arguments);
  }

  std::string_view name() const override { return "convolution_dnnl"; }
  memory::desc weight() const override { return desc_.weights_desc(); }
  size_t scratch_bytes() const override {
    return desc_.scratchpad_desc().get_size();
  }
  bool Run(const ConvolutionPointers& p) override {
    size_t next = 0;
    pointers_[next++] = p.x;
    pointers_[next++] = p.weight;
    pointers_[next++] = p.out;
    pointers_[next++] = p.scratch;
    if (has_bias_) pointers_[next++] = p.bias;
    for (size_t i = 0; i < has_argument_.size(); ++i) {
      if (has_argument_[i]) pointers_[next++] = p.operands[i];
    }
    return call_.Run(stream_, pointers_);
  }

 private:
  const dnnl::convolution_forward::primitive_desc desc_;
  const bool has_bias_;
  std::vector<bool> has_argument_;  // by post-op
  std::vector<void*> pointers_;     // of a run's arguments
  PrimitiveCall call_;
  dnnl::stream stream_;
};

}  // namespace

bool HasDnnlConvolution(const FusedConvolutionShape& shape) {
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

std::unique_ptr<ConvolutionKernel> MakeDnnlConvolution(
    const FusedConvolutionShape& shape) try {
  return std::make_unique<DnnlConvolution>(shape);
} catch (const dnnl::error&) {
  return nullptr;
}

}  // namespace tenon::cpu
