// Transposed convolutions: every input pixel adds a multiple of the kernel to
// the result.
//
// A matrix product gives all the multiples: pixels [N * L, Cin] times weights
// [Cin, taps * Cout], where L counts the pixels of an image. A step then adds
// each row to the pixels of the result that its taps fall on, Cout numbers side
// by side. So input and result have their channels last (channels_last.h), and
// the weights, which are put in that order, are kept.
#include "backends/cpu/lowering_transposed_convolution.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/cpu/channels_last.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/plan_chain.h"
#include "kernels/views.h"
#include "support/checked.h"

namespace tenon::cpu {
namespace {

constexpr int kSpatial = 3;

// Three spatial dimensions; those that a tensor lacks come first, of size 1.
struct SpreadShape {
  std::array<int64_t, kSpatial> in, out, kernel, stride, padding, dilation;
  int64_t batch = 0, groups = 1;
  int64_t channels = 0;  // of the result, in one group
  bool has_bias = false;
  Ref rows;  // [group, batch, in.., kernel.., channels]
  Ref bias;
  Ref result;  // [batch, out.., groups, channels]

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

class SpreadStep : public Step {
 public:
  explicit SpreadStep(const SpreadShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    const int64_t width = s_.groups * s_.channels;
    float* result = frame.at<float>(s_.result);
    Start(frame, result);
    const float* rows = frame.at<float>(s_.rows);
    for (int64_t g = 0; g < s_.groups; ++g) {
      for (int64_t n = 0; n < s_.batch; ++n) {
        float* to = result + n * s_.out_pixels() * width + g * s_.channels;
        for (int64_t d = 0; d < s_.in[0]; ++d) {
          for (int64_t h = 0; h < s_.in[1]; ++h) {
            for (int64_t w = 0; w < s_.in[2]; ++w) {
              AddRow(rows, {d, h, w}, to);
              rows += s_.taps() * s_.channels;
            }
          }
        }
      }
    }
    return true;
  }
  std::string_view name() const override { return "spread"; }

 private:
  void Start(Frame& frame, float* result) const {
    const int64_t width = s_.groups * s_.channels;
    const int64_t pixels = s_.batch * s_.out_pixels();
    if (!s_.has_bias) {
      std::fill_n(result, pixels * width, 0.0f);
      return;
    }
    const float* bias = frame.at<float>(s_.bias);
    for (int64_t p = 0; p < pixels; ++p) {
      std::copy_n(bias, width, result + p * width);
    }
  }

  // Where a tap of a pixel falls, or -1.
  int64_t Place(int dim, int64_t pixel, int64_t tap) const {
    const auto d = static_cast<size_t>(dim);
    const int64_t at =
        pixel * s_.stride[d] + tap * s_.dilation[d] - s_.padding[d];
    return at < s_.out[d] ? at : -1;  // itself less than 0 before the first
  }

  void AddRow(const float* row, const std::array<int64_t, kSpatial>& pixel,
              float* to) const {
    const int64_t channels = s_.channels, width = s_.groups * channels;
    for (int64_t kd = 0; kd < s_.kernel[0]; ++kd) {
      const int64_t d = Place(0, pixel[0], kd);
      for (int64_t kh = 0; kh < s_.kernel[1]; ++kh) {
        const int64_t h = Place(1, pixel[1], kh);
        for (int64_t kw = 0; kw < s_.kernel[2]; ++kw, row += channels) {
          const int64_t w = Place(2, pixel[2], kw);
          if (d < 0 || h < 0 || w < 0) continue;
          float* out = to + ((d * s_.out[1] + h) * s_.out[2] + w) * width;
          for (int64_t c = 0; c < channels; ++c) out[c] += row[c];
        }
      }
    }
  }

  const SpreadShape s_;
};

// One value may stand for all dimensions.
bool Spatial(KernelCall& call, const Sizes& given, int64_t rank, int64_t single,
             int64_t least, std::array<int64_t, kSpatial>* out) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (given.size() != 1 && static_cast<int64_t>(given.size()) != rank) {
    return call.Fail("expected one value per spatial dimension");
  }
  out->fill(single);
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t value = given.size() == 1 ? given[0] : given[i];
    if (value < least || value >= kLimit) {
      return call.Fail("stride, padding or dilation out of range");
    }
    (*out)[static_cast<size_t>(kSpatial - rank + i)] = value;
  }
  return true;
}

// Checks the operands and measures the result, whose sizes it gives.
bool Measure(KernelCall& call, const Tensor& x, const Tensor& weight,
             const TransposedConvolution& c, SpreadShape* s, Sizes* sizes) {
  const int64_t rank = weight.dim() - 2;
  std::array<int64_t, kSpatial> more;
  if (!Spatial(call, c.stride, rank, 1, 1, &s->stride) ||
      !Spatial(call, c.padding, rank, 0, 0, &s->padding) ||
      !Spatial(call, c.dilation, rank, 1, 1, &s->dilation) ||
      !Spatial(call, c.output_padding.empty() ? Sizes{0} : c.output_padding,
               rank, 0, 0, &more)) {
    return false;
  }
  if (c.groups <= 0 || x.size(1) == 0 || x.size(1) != weight.size(0) ||
      weight.size(0) % c.groups != 0) {
    return call.Fail("channels of " + x.ToString() + " and " +
                     weight.ToString() + " don't fit " +
                     std::to_string(c.groups) + " groups");
  }
  s->batch = x.size(0);
  s->groups = c.groups;
  s->channels = weight.size(1);
  const auto outputs = CheckedMul(weight.size(1), c.groups);
  if (!outputs || (c.bias.defined() && c.bias.sizes() != Sizes{*outputs})) {
    return call.Fail("the bias doesn't fit");
  }
  *sizes = {s->batch, *outputs};
  s->in.fill(1);
  s->out.fill(1);
  s->kernel.fill(1);
  for (int64_t i = 0; i < rank; ++i) {
    const auto d = static_cast<size_t>(kSpatial - rank + i);
    s->in[d] = x.size(2 + i);
    s->kernel[d] = weight.size(2 + i);
    if (more[d] >= std::max(s->stride[d], s->dilation[d])) {
      return call.Fail(
          "output_padding must be smaller than stride or dilation");
    }
    const auto reach = CheckedMul(s->dilation[d], s->kernel[d] - 1);
    const auto span = CheckedMul(s->in[d] - 1, s->stride[d]);
    constexpr int64_t kLimit = int64_t{1} << 40;
    if (s->kernel[d] == 0 || !reach || !span || *reach > kLimit ||
        *span > kLimit) {
      return call.Fail("a kernel without elements, or too large");
    }
    s->out[d] = *span - 2 * s->padding[d] + *reach + more[d] + 1;
    if (s->out[d] <= 0) return call.Fail("the result would have no elements");
    sizes->push_back(s->out[d]);
  }
  return CheckSizes(call, *sizes);
}

// [Cin, Cout, taps..] -> [group, Cin of it, taps * Cout of it].
Tensor OrderedWeight(PlanBuilder& b, const Tensor& weight,
                     const SpreadShape& s) {
  const int64_t inputs = weight.size(0) / s.groups;
  Sizes order = {0};
  for (int64_t d = 2; d < weight.dim(); ++d) order.push_back(d);
  order.push_back(1);
  const Tensor ordered = b.Contiguous(Permuted(weight, order));
  if (!ordered.defined()) return ordered;
  b.Keep(ordered);
  const Sizes sizes = {s.groups, inputs, s.taps() * s.channels};
  return ordered.View(sizes, ContiguousStrides(sizes), ordered.offset());
}

// Dimension 1 last, contiguous: [N, pixels.., C].
Tensor PixelRows(PlanBuilder& b, const Tensor& x) {
  Sizes order = {0};
  for (int64_t d = 2; d < x.dim(); ++d) order.push_back(d);
  order.push_back(1);
  const bool has_twin = x.dim() == 3 || x.dim() == 4;
  const Tensor last = has_twin ? b.FindChannelsLast(x) : Tensor();
  return b.Contiguous(Permuted(last.defined() ? last : x, order));
}

Tensor Multiples(PlanBuilder& b, KernelCall& call, const Tensor& x,
                 const Tensor& weight, const SpreadShape& s) {
  const Tensor pixels = PixelRows(b, x);
  const Tensor factors = OrderedWeight(b, weight, s);
  if (!pixels.defined() || !factors.defined()) {
    call.Fail("the operands are too large");
    return Tensor();
  }
  PlanChain chain(b, call);
  const int64_t count = s.batch * s.in_pixels();
  const int64_t inputs = x.size(1) / s.groups;
  if (s.groups == 1) {
    return chain("aten.mm.default",
                 {pixels.View({count, inputs}, {inputs, 1}, pixels.offset()),
                  factors.View({factors.size(1), factors.size(2)},
                               {factors.size(2), 1}, factors.offset())});
  }
  return chain("aten.bmm.default",
               {pixels.View({s.groups, count, inputs}, {inputs, x.size(1), 1},
                            pixels.offset()),
                factors});
}

MemoryFormat ResultFormat(const Tensor& x, const Tensor& weight) {
  const MemoryFormat format = SuggestedFormat(x);
  return format == MemoryFormat::kContiguous ? SuggestedFormat(weight) : format;
}

// The result with its channels last: dimensions as `out` has them.
Tensor NewLast(PlanBuilder& b, const Tensor& out) {
  if (out.dim() < 5) return b.NewChannelsLast(out);
  return b.NewTensor(out.dtype(), out.sizes(),
                     StridesFor(out.sizes(), MemoryFormat::kChannelsLast3d));
}

bool Emit(PlanBuilder& b, KernelCall& call, const Tensor& x,
          const Tensor& weight, const Tensor& given_bias, SpreadShape s,
          const Tensor& out) {
  const Tensor rows = Multiples(b, call, x, weight, s);
  if (!rows.defined()) return false;
  const Tensor last = NewLast(b, out);
  if (!last.defined()) return call.Fail("the result is too large");
  Tensor bias;
  if (given_bias.defined()) {
    bias = b.Contiguous(given_bias);
    if (!bias.defined()) return call.Fail("cannot copy the bias");
    s.has_bias = true;
    s.bias = b.RefOf(bias);
  }
  s.rows = b.RefOf(rows);
  s.result = b.RefOf(last);
  const Tensor reads[] = {rows, bias};
  const Tensor writes[] = {last};
  b.Emit(std::make_unique<SpreadStep>(s), reads, writes);
  if (out.dim() < 5) {
    b.SetChannelsLast(out, last);
    return true;
  }
  return b.EmitCopy(last, out) || call.Fail("cannot copy the result");
}

template <int kRank>
bool ConvTransposeNd(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (call.tensor(1).dim() != kRank + 2) {
    return call.Fail("expected a weight of rank " + std::to_string(kRank + 2));
  }
  return ConvolveTransposed(b, call,
                            {call.OptionalTensor(2), call.Ints(3), call.Ints(4),
                             call.Ints(5), call.Ints(7), call.Int(6)});
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloat32 = DTypeRule::kOnlyFloat32;

constexpr Lowering kLowerings[] = {
    {"aten.conv_transpose1d.default", kPure, ConvTransposeNd<1>, kFloat32},
    {"aten.conv_transpose2d.input", kPure, ConvTransposeNd<2>, kFloat32},
    {"aten.conv_transpose3d.input", kPure, ConvTransposeNd<3>, kFloat32},
};

}  // namespace

bool ConvolveTransposed(PlanBuilder& b, KernelCall& call,
                        TransposedConvolution c) {
  Tensor x = call.tensor(0);
  const Tensor weight = call.tensor(1);
  if (!NeedFloat32(call, {x, weight, c.bias})) return false;
  if (weight.dim() < 3 || weight.dim() > 5 ||
      (x.dim() != weight.dim() && x.dim() != weight.dim() - 1)) {
    return call.Fail(
        "expected a convolution over one to three dimensions, "
        "found " +
        x.ToString() + " and " + weight.ToString());
  }
  const bool is_unbatched = x.dim() == weight.dim() - 1;
  if (is_unbatched) x = Unsqueezed(x, 0);
  SpreadShape s;
  Sizes sizes;
  if (!Measure(call, x, weight, c, &s, &sizes)) return false;
  Tensor out;
  if (weight.dim() == 3) {
    // As a 2-d convolution of height 1, whose memory format decides.
    Sizes flat = sizes;
    flat.insert(flat.begin() + 2, 1);
    const Sizes strides =
        StridesFor(flat, ResultFormat(Unsqueezed(x, 2), Unsqueezed(weight, 2)));
    out = b.NewTensor(DType::kFloat32, sizes,
                      {strides[0], strides[1], strides[3]});
  } else {
    out = b.NewTensor(DType::kFloat32, sizes,
                      StridesFor(sizes, ResultFormat(x, weight)));
  }
  if (!out.defined()) return call.Fail("the result is too large");
  if (out.numel() > 0 && !Emit(b, call, x, weight, c.bias, s, out)) {
    return false;
  }
  call.Return(is_unbatched ? Squeezed(out, 0) : out);
  return true;
}

std::span<const Lowering> TransposedConvolutionLowerings() {
  return kLowerings;
}

}  // namespace tenon::cpu
