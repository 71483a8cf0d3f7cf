// Convolutions. Small ones and large ones are computed with their channels last
// (fused_convolution.h). For the others, as small ones whose weights may change
// and those in groups, patches of the input become columns, and a matrix
// product with the weights as they are does the rest: nothing is packed, and a
// run costs little beyond its arithmetic.
#include <algorithm>
#include <cstring>
#include <string>

#include "backends/cpu/channels_last.h"
#include "backends/cpu/direct_convolution.h"
#include "backends/cpu/fused_convolution.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "backends/cpu/lowering_transposed_convolution.h"
#include "kernels/views.h"
#include "support/checked.h"

namespace tenon::cpu {
namespace {

// Two spatial dimensions; a 1-d convolution has a first one of size 1.
struct ConvolutionShape {
  int64_t batch = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // of one group
  int64_t in_size[2], out_size[2], kernel[2], stride[2], padding[2],
      dilation[2];
  bool has_bias = false;
  Ref x, weight, bias, out, columns, scratch;

  int64_t in_plane() const { return in_size[0] * in_size[1]; }
  int64_t out_plane() const { return out_size[0] * out_size[1]; }
  int64_t patch() const { return in_channels * kernel[0] * kernel[1]; }
  // The columns are the input itself.
  bool is_pointwise() const {
    return kernel[0] == 1 && kernel[1] == 1 && stride[0] == 1 &&
           stride[1] == 1 && padding[0] == 0 && padding[1] == 0;
  }
  bool is_depthwise() const { return in_channels == 1 && out_channels == 1; }
  // Weights times columns, without pointers.
  GemmArgs Product() const {
    GemmArgs g;
    g.m = out_channels;
    g.n = out_plane();
    g.k = patch();
    g.a_row = patch();
    g.b_row = out_plane();
    g.b_column = 1;
    g.c_row = out_plane();
    return g;
  }
};

class ConvolutionStep : public Step {
 public:
  explicit ConvolutionStep(const ConvolutionShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    const float* x = frame.at<float>(s_.x);
    const float* weight = frame.at<float>(s_.weight);
    float* out = frame.at<float>(s_.out);
    const float* bias = s_.has_bias ? frame.at<float>(s_.bias) : nullptr;
    const int64_t plane = s_.out_plane();
    for (int64_t n = 0; n < s_.batch; ++n) {
      for (int64_t g = 0; g < s_.groups; ++g) {
        const float* in =
            x + (n * s_.groups + g) * s_.in_channels * s_.in_plane();
        const float* w = weight + g * s_.out_channels * s_.patch();
        const int64_t channel = g * s_.out_channels;
        float* to = out + (n * s_.groups * s_.out_channels + channel) * plane;
        if (s_.is_depthwise()) {
          Correlate(in, w, to);
        } else {
          MultiplyGroup(frame, in, w, to);
        }
        if (bias != nullptr) AddBias(bias + channel, to);
      }
    }
    return true;
  }
  std::string_view name() const override { return "convolution"; }

 private:
  void MultiplyGroup(Frame& frame, const float* in, const float* w,
                     float* to) const {
    const float* columns = in;
    if (!s_.is_pointwise()) {
      float* filled = frame.at<float>(s_.columns);
      FillColumns(in, filled);
      columns = filled;
    }
    GemmArgs product = s_.Product();
    product.a = w;
    product.b = columns;
    product.c = to;
    Multiply(product, frame.at<float>(s_.scratch));
  }

  // [channel, kernel row, kernel column] x [output row, output column].
  void FillColumns(const float* in, float* columns) const {
    for (int64_t c = 0; c < s_.in_channels; ++c) {
      for (int64_t kh = 0; kh < s_.kernel[0]; ++kh) {
        for (int64_t kw = 0; kw < s_.kernel[1]; ++kw) {
          FillTap(in + c * s_.in_plane(), kh, kw, columns);
          columns += s_.out_plane();
        }
      }
    }
  }

  // The output columns whose input column lies inside the image.
  void InsideRange(int64_t kw, int64_t* first, int64_t* last) const {
    const int64_t shift = kw * s_.dilation[1] - s_.padding[1];
    const int64_t stride = s_.stride[1];
    *first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    const int64_t room = s_.in_size[1] - 1 - shift;
    *last = room < 0 ? 0 : std::min(s_.out_size[1], room / stride + 1);
    *first = std::min(*first, *last);
  }

  void FillTap(const float* plane, int64_t kh, int64_t kw, float* to) const {
    int64_t first, last;
    InsideRange(kw, &first, &last);
    const int64_t shift = kw * s_.dilation[1] - s_.padding[1];
    for (int64_t oh = 0; oh < s_.out_size[0]; ++oh, to += s_.out_size[1]) {
      const int64_t ih =
          oh * s_.stride[0] + kh * s_.dilation[0] - s_.padding[0];
      if (ih < 0 || ih >= s_.in_size[0]) {
        std::fill_n(to, s_.out_size[1], 0.0f);
        continue;
      }
      const float* row = plane + ih * s_.in_size[1] + shift;
      std::fill_n(to, first, 0.0f);
      if (s_.stride[1] == 1) {
        std::copy_n(row + first, last - first, to + first);
      } else {
        for (int64_t ow = first; ow < last; ++ow) {
          to[ow] = row[ow * s_.stride[1]];
        }
      }
      std::fill(to + last, to + s_.out_size[1], 0.0f);
    }
  }

  // One channel by one filter, tap by tap along whole rows.
  void Correlate(const float* plane, const float* w, float* to) const {
    std::fill_n(to, s_.out_plane(), 0.0f);
    for (int64_t kh = 0; kh < s_.kernel[0]; ++kh) {
      for (int64_t kw = 0; kw < s_.kernel[1]; ++kw, ++w) {
        int64_t first, last;
        InsideRange(kw, &first, &last);
        const int64_t shift = kw * s_.dilation[1] - s_.padding[1];
        for (int64_t oh = 0; oh < s_.out_size[0]; ++oh) {
          const int64_t ih =
              oh * s_.stride[0] + kh * s_.dilation[0] - s_.padding[0];
          if (ih < 0 || ih >= s_.in_size[0]) continue;
          const float* row = plane + ih * s_.in_size[1] + shift;
          float* line = to + oh * s_.out_size[1];
          for (int64_t ow = first; ow < last; ++ow) {
            line[ow] += *w * row[ow * s_.stride[1]];
          }
        }
      }
    }
  }

  void AddBias(const float* bias, float* to) const {
    for (int64_t c = 0; c < s_.out_channels; ++c, to += s_.out_plane()) {
      for (int64_t i = 0; i < s_.out_plane(); ++i) to[i] += bias[c];
    }
  }

  const ConvolutionShape s_;
};

struct ConvolutionCall {
  Tensor bias;
  Sizes stride, padding, dilation;
  int64_t groups = 1;
};

// One value may stand for both dimensions; 1-d gets a first one.
bool Pair(KernelCall& call, const Sizes& given, int64_t rank, int64_t single,
          int64_t least, int64_t* out) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (given.size() != 1 && static_cast<int64_t>(given.size()) != rank) {
    return call.Fail("expected one value per spatial dimension");
  }
  out[0] = rank == 2 ? given.front() : single;
  out[1] = given.back();
  for (int d = 0; d < 2; ++d) {
    if (out[d] < least || out[d] > kLimit) {
      return call.Fail("stride, padding or dilation out of range");
    }
  }
  return true;
}

// Below this many multiplications planar loops are faster: between tensors
// whose channels are last already, where input and result are reordered, and
// where the weights are packed in each run.
constexpr int64_t kLargeInOrder = int64_t{1} << 15;
constexpr int64_t kLarge = int64_t{1} << 18;
constexpr int64_t kLargeUnpacked = int64_t{4} << 20;
// One filter per channel: the own loop goes over a plane tap by tap.
constexpr int64_t kLargeDepthwise = int64_t{1} << 9;

bool IsWorthDnnl(PlanBuilder& b, const ConvolutionShape& s, const Tensor& x,
                 const Tensor& weight, const Tensor& out) {
  const int64_t work = NumElements({out.numel(), s.patch()});
  if (s.is_depthwise() && s.groups > 1) return work >= kLargeDepthwise;
  if (!b.SourceOf(weight).is_fixed) return work >= kLargeUnpacked;
  return work >= (b.FindChannelsLast(x).defined() ? kLargeInOrder : kLarge);
}

// x and out have their channels last.
FusedConvolutionShape FusedShape(PlanBuilder& b, const ConvolutionShape& s,
                                 const Tensor& weight) {
  FusedConvolutionShape d;
  d.batch = s.batch;
  d.groups = s.groups;
  d.in_channels = s.in_channels * s.groups;
  d.out_channels = s.out_channels * s.groups;
  for (int i = 0; i < 2; ++i) {
    d.in_size[i] = s.in_size[i];
    d.out_size[i] = s.out_size[i];
    d.kernel[i] = s.kernel[i];
    d.stride[i] = s.stride[i];
    d.padding[i] = s.padding[i];
    d.dilation[i] = s.dilation[i];
  }
  d.has_bias = s.has_bias;
  d.bias = s.bias;
  d.weight = b.RefOf(weight);
  d.weight_source = b.SourceOf(weight);
  d.has_weight_channels_last = !weight.is_contiguous();
  return d;
}

// False, with nothing emitted, when planar loops do it better.
bool EmitFused(PlanBuilder& b, const ConvolutionShape& s, const Tensor& x,
               const Tensor& weight, const Tensor& out) {
  FusedConvolutionShape d = FusedShape(b, s, weight);
  if (!HasDirectConvolution(d) && (!IsWorthDnnl(b, s, x, weight, out) ||
                                   !FusedConvolutionStep::IsFast(d))) {
    return false;
  }
  const Tensor in_order = b.InChannelsLast(x);
  const Tensor result = b.NewChannelsLast(out);
  if (!in_order.defined() || !result.defined()) return false;
  d.x = b.RefOf(in_order);
  d.out = b.RefOf(result);
  b.EmitConvolution(std::move(d));
  b.SetChannelsLast(out, result);
  return true;
}

// By own loops, on contiguous tensors.
bool EmitOwn(PlanBuilder& b, KernelCall& call, ConvolutionShape s, Tensor x,
             Tensor weight, const Tensor& bias, const Tensor& out) {
  Tensor columns, scratch;
  x = b.Contiguous(x);
  weight = b.Contiguous(weight);
  if (!x.defined() || !weight.defined()) {
    return call.Fail("the operands are too large");
  }
  if (!s.is_pointwise() && !s.is_depthwise()) {
    columns = b.NewTensor(DType::kFloat32, {s.patch(), s.out_plane()});
    if (!columns.defined()) return call.Fail("the columns are too large");
    s.columns = b.RefOf(columns);
  }
  if (!s.is_depthwise()) {
    scratch = NewScratch(b, ScratchBytesFor(s.Product()));
    s.scratch = b.RefOf(scratch);
  }
  const Tensor result =
      out.is_contiguous() ? out : b.NewTensor(DType::kFloat32, out.sizes());
  if (!result.defined()) return call.Fail("the result is too large");
  s.x = b.RefOf(x);
  s.weight = b.RefOf(weight);
  s.out = b.RefOf(result);
  const Tensor reads[] = {x, weight, bias};
  const Tensor writes[] = {result, columns, scratch};
  b.Emit(std::make_unique<ConvolutionStep>(s), reads, writes);
  return result.SharesStorage(out) || b.EmitCopy(result, out) ||
         call.Fail("cannot copy the result");
}

bool Convolve(PlanBuilder& b, KernelCall& call, const ConvolutionCall& c) {
  Tensor x = call.tensor(0), weight = call.tensor(1);
  if (!NeedFloat32(call, {x, weight, c.bias})) return false;
  const int64_t rank = weight.dim() - 2;
  if ((rank != 1 && rank != 2) ||
      (x.dim() != weight.dim() && x.dim() != weight.dim() - 1)) {
    return call.Fail("expected a 1-d or 2-d convolution, found " +
                     x.ToString() + " and " + weight.ToString());
  }
  const bool is_unbatched = x.dim() == weight.dim() - 1;
  if (is_unbatched) x = Unsqueezed(x, 0);
  // A 1-d convolution is a 2-d one of height 1, whose memory format decides.
  const auto is_last = [&](const Tensor& t) {
    return SuggestedFormat(rank == 2 ? t : Unsqueezed(t, 2)) ==
           MemoryFormat::kChannelsLast;
  };
  const MemoryFormat format = is_last(x) || is_last(weight)
                                  ? MemoryFormat::kChannelsLast
                                  : MemoryFormat::kContiguous;
  ConvolutionShape s;
  if (!Pair(call, c.stride, rank, 1, 1, s.stride) ||
      !Pair(call, c.padding, rank, 0, 0, s.padding) ||
      !Pair(call, c.dilation, rank, 1, 1, s.dilation)) {
    return false;
  }
  if (c.groups <= 0 || x.size(1) % c.groups != 0 ||
      weight.size(0) % c.groups != 0 ||
      weight.size(1) != x.size(1) / c.groups || x.size(1) == 0) {
    return call.Fail("channels of " + x.ToString() + " and " +
                     weight.ToString() + " don't fit " +
                     std::to_string(c.groups) + " groups");
  }
  s.batch = x.size(0);
  s.groups = c.groups;
  s.in_channels = weight.size(1);
  s.out_channels = weight.size(0) / c.groups;
  for (int d = 0; d < 2; ++d) {
    const bool is_added = rank == 1 && d == 0;
    s.in_size[d] = is_added ? 1 : x.size(2 + d - (2 - rank));
    s.kernel[d] = is_added ? 1 : weight.size(2 + d - (2 - rank));
    const auto reach = CheckedMul(s.dilation[d], s.kernel[d] - 1);
    if (s.kernel[d] == 0 || !reach || *reach > (int64_t{1} << 40)) {
      return call.Fail("a kernel without elements, or too large");
    }
    const int64_t room = s.in_size[d] + 2 * s.padding[d] - *reach - 1;
    if (room < 0) return call.Fail("the kernel is larger than the input");
    s.out_size[d] = room / s.stride[d] + 1;
  }
  Sizes out_sizes = {s.batch, weight.size(0), s.out_size[0], s.out_size[1]};
  if (!CheckSizes(call, out_sizes)) return false;
  Sizes out_strides = StridesFor(out_sizes, format);
  if (rank == 1) {
    out_sizes.erase(out_sizes.begin() + 2);
    out_strides.erase(out_strides.begin() + 2);
  }
  const Tensor out = b.NewTensor(DType::kFloat32, out_sizes, out_strides);
  if (!out.defined()) return call.Fail("the result is too large");
  Tensor bias;
  if (c.bias.defined()) {
    if (c.bias.sizes() != Sizes{weight.size(0)}) {
      return call.Fail("bias " + c.bias.ToString() + " doesn't fit");
    }
    bias = b.Contiguous(c.bias);
    if (!bias.defined()) return call.Fail("cannot copy the bias");
    s.has_bias = true;
    s.bias = b.RefOf(bias);
  }
  if (!weight.is_contiguous() && !HasChannelsLast(weight)) {
    weight = b.Contiguous(weight);
    if (!weight.defined()) return call.Fail("cannot copy the weight");
  }
  b.Keep(weight);
  if (out.numel() > 0 && !EmitFused(b, s, x, weight, out) &&
      !EmitOwn(b, call, s, x, weight, bias, out)) {
    return false;
  }
  call.Return(is_unbatched ? Squeezed(out, 0) : out);
  return true;
}

bool Convolution(PlanBuilder& b, KernelCall& call, const Lowering&) {
  if (call.Bool(6)) {
    return ConvolveTransposed(
        b, call,
        {call.OptionalTensor(2), call.Ints(3), call.Ints(4), call.Ints(7),
         call.Ints(5), call.Int(8)});
  }
  return Convolve(b, call,
                  {call.OptionalTensor(2), call.Ints(3), call.Ints(4),
                   call.Ints(5), call.Int(8)});
}

bool ConvNd(PlanBuilder& b, KernelCall& call, const Lowering&) {
  return Convolve(b, call,
                  {call.OptionalTensor(2), call.Ints(3), call.Ints(4),
                   call.Ints(5), call.Int(6)});
}

std::optional<Refusal> RefuseShape(const Program& program, NodeId node) {
  const Arg* transposed = program.FindArg(node, "transposed");
  if (transposed != nullptr && transposed->kind == ArgKind::kBool &&
      transposed->i != 0) {
    return std::nullopt;
  }
  const Arg* weight = program.FindArg(node, "weight");
  if (weight == nullptr || !weight->is_value()) return std::nullopt;
  const Type& type = program.type(weight->value());
  if (type.is_tensor() && type.rank() != 3 && type.rank() != 4) {
    return Refusal{RefusalReason::kRank, "a convolution over " +
                                             std::to_string(type.rank() - 2) +
                                             " dimensions"};
  }
  return std::nullopt;
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloat32 = DTypeRule::kOnlyFloat32;

constexpr Lowering kLowerings[] = {
    {"aten.convolution.default", kPure, Convolution, kFloat32, TileOp::kCopy,
     RefuseShape},
    {"aten.conv2d.default", kPure, ConvNd, kFloat32, TileOp::kCopy,
     RefuseShape},
    {"aten.conv1d.default", kPure, ConvNd, kFloat32, TileOp::kCopy,
     RefuseShape},
};

}  // namespace

std::span<const Lowering> ConvolutionLowerings() { return kLowerings; }

}  // namespace tenon::cpu
