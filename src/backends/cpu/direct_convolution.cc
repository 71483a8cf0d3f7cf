#include "backends/cpu/direct_convolution.h"

#include <limits>
#include <optional>
#include <vector>

#include "backends/cpu/loops/loops.h"

namespace tenon::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Kind = ConvolutionPostOp::Kind;

// Above this many multiplications oneDNN is as fast, or faster.
constexpr double kMostWork = 1 << 20;
constexpr double kMostDepthwiseWork = 1 << 17;
// Of the table of taps.
constexpr double kMostOffsets = 1 << 16;

bool IsDepthwise(const FusedConvolutionShape& s) {
  return s.groups > 1 && s.groups == s.in_channels &&
         s.groups == s.out_channels;
}

int64_t NumPixels(const FusedConvolutionShape& s) {
  return s.batch * s.out_size[0] * s.out_size[1];
}

int64_t NumTaps(const FusedConvolutionShape& s) {
  return s.kernel[0] * s.kernel[1];
}

// What the loops do to a tile in registers.
struct Epilogue {
  int addend = -1;  // the post-op that adds an element, or -1
  bool has_bounds = false;
  float low = 0, high = 0;
};

bool IsAddend(const ConvolutionPostOp& op) {
  return op.kind == Kind::kSum ||
         (op.kind == Kind::kElement && op.algorithm == algorithm::binary_add);
}

bool IsBounds(const ConvolutionPostOp& op) {
  return op.kind == Kind::kActivation &&
         (op.algorithm == algorithm::eltwise_clip ||
          (op.algorithm == algorithm::eltwise_relu && op.alpha == 0));
}

// A sum, then bounds, each once or not at all.
std::optional<Epilogue> EpilogueOf(const FusedConvolutionShape& s) {
  Epilogue e;
  size_t next = 0;
  if (next < s.post_ops.size() && IsAddend(s.post_ops[next])) {
    e.addend = static_cast<int>(next++);
  }
  if (next < s.post_ops.size() && IsBounds(s.post_ops[next])) {
    const ConvolutionPostOp& op = s.post_ops[next++];
    const bool is_relu = op.algorithm == algorithm::eltwise_relu;
    e.has_bounds = true;
    e.low = is_relu ? 0 : op.alpha;
    e.high = is_relu ? std::numeric_limits<float>::infinity() : op.beta;
  }
  if (next != s.post_ops.size()) return std::nullopt;
  return e;
}

memory::desc BlockedWeight(const FusedConvolutionShape& s, int64_t block) {
  using Tag = memory::format_tag;
  const bool is_depthwise = IsDepthwise(s);
  Tag tag = Tag::undef;
  switch (block) {
    case 16:
      tag = is_depthwise ? Tag::Goihw16g : Tag::Ohwi16o;
      break;
    case 8:
      tag = is_depthwise ? Tag::Goihw8g : Tag::Ohwi8o;
      break;
    default:
      tag = is_depthwise ? Tag::Goihw4g : Tag::Ohwi4o;
  }
  return memory::desc(PlainWeight(s).dims(), memory::data_type::f32, tag);
}

class DirectConvolution : public ConvolutionKernel {
 public:
  explicit DirectConvolution(const FusedConvolutionShape& s)
      : is_depthwise_(IsDepthwise(s)),
        epilogue_(*EpilogueOf(s)),
        zeros_(static_cast<size_t>(s.in_channels)),
        offsets_(OffsetsOf(s)) {
    args_.pixels = NumPixels(s);
    args_.taps = NumTaps(s);
    args_.in_channels = s.in_channels;
    args_.out_channels = s.out_channels;
    args_.block = BestLoops().convolution_block(s.out_channels);
    args_.offsets = offsets_.data();
    args_.zeros = zeros_.data();
    args_.has_bounds = epilogue_.has_bounds;
    args_.low = epilogue_.low;
    args_.high = epilogue_.high;
    weight_ = BlockedWeight(s, args_.block);
  }

  std::string_view name() const override { return "convolution_direct"; }
  memory::desc weight() const override { return weight_; }
  bool Run(const ConvolutionPointers& p) override {
    args_.x = p.x;
    args_.weight = static_cast<const float*>(p.weight);
    args_.out = p.out;
    args_.bias = p.bias;
    if (epilogue_.addend >= 0) {
      const auto i = static_cast<size_t>(epilogue_.addend);
      args_.addend = static_cast<const float*>(p.operands[i]);
    }
    const Loops& loops = BestLoops();
    (is_depthwise_ ? loops.convolve_depthwise : loops.convolve)(args_);
    return true;
  }

 private:
  static std::vector<int32_t> OffsetsOf(const FusedConvolutionShape& s) {
    std::vector<int32_t> offsets;
    offsets.reserve(static_cast<size_t>(NumPixels(s) * NumTaps(s)));
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t i = 0; i < s.out_size[0]; ++i) {
        for (int64_t j = 0; j < s.out_size[1]; ++j) {
          AddPixel(s, n, i * s.stride[0] - s.padding[0],
                   j * s.stride[1] - s.padding[1], &offsets);
        }
      }
    }
    return offsets;
  }

  // The taps of the pixel whose first one lies at (top, left) of an image.
  static void AddPixel(const FusedConvolutionShape& s, int64_t image,
                       int64_t top, int64_t left,
                       std::vector<int32_t>* offsets) {
    for (int64_t kh = 0; kh < s.kernel[0]; ++kh) {
      for (int64_t kw = 0; kw < s.kernel[1]; ++kw) {
        const int64_t i = top + kh * s.dilation[0];
        const int64_t j = left + kw * s.dilation[1];
        const bool is_inside =
            i >= 0 && i < s.in_size[0] && j >= 0 && j < s.in_size[1];
        const int64_t pixel = (image * s.in_size[0] + i) * s.in_size[1] + j;
        offsets->push_back(
            is_inside ? static_cast<int32_t>(pixel * s.in_channels) : -1);
      }
    }
  }

  const bool is_depthwise_;
  const Epilogue epilogue_;
  const std::vector<float> zeros_;
  const std::vector<int32_t> offsets_;
  ConvolutionArgs args_;
  memory::desc weight_;
};

}  // namespace

bool HasDirectConvolution(const FusedConvolutionShape& s) {
  const bool is_depthwise = IsDepthwise(s);
  if (!s.weight_source.is_fixed || (s.groups > 1 && !is_depthwise)) {
    return false;
  }
  // As doubles: a product of sizes may be large.
  const double inputs = double(s.batch) * double(s.in_size[0]) *
                        double(s.in_size[1]) * double(s.in_channels);
  const double offsets = double(NumPixels(s)) * double(NumTaps(s));
  const double work = offsets * double(s.out_channels) *
                      (is_depthwise ? 1 : double(s.in_channels));
  return inputs < double(std::numeric_limits<int32_t>::max()) &&
         offsets <= kMostOffsets &&
         work <= (is_depthwise ? kMostDepthwiseWork : kMostWork) &&
         EpilogueOf(s).has_value();
}

std::unique_ptr<ConvolutionKernel> MakeDirectConvolution(
    const FusedConvolutionShape& shape) {
  return std::make_unique<DirectConvolution>(shape);
}

}  // namespace tenon::cpu
