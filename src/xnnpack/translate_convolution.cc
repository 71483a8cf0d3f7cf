// Convolutions with the batch norms after them, and batch norms alone.
//
// Images have their channels last; rows are images of height 1. A filter lies
// as [out, height, width, in of a group]; where every input channel is a group
// of its own, as [1, height, width, out].
#include <cmath>

#include "xnnpack/image_parameters.h"
#include "xnnpack/quantized_filter.h"
#include "xnnpack/translate.h"
#include "xnnpack/translate_integers.h"

namespace tenon::xnnpack {
namespace {

std::vector<uint32_t> DimsOf(const Tensor& t) {
  return {t.sizes().begin(), t.sizes().end()};
}

std::optional<Refusal> RefuseConvolution(const Question& q) {
  const ValueId x = q.read.value("input"), weight = q.read.value("weight");
  const ValueId bias = q.read.value("bias");
  const bool is_row = x.valid() && q.rank(x) == 3;
  if (!x.valid() || !weight.valid() || (q.rank(x) != 4 && !is_row) ||
      q.rank(weight) != q.rank(x)) {
    return Refusal{RefusalReason::kRank,
                   "a convolution of other than images or rows"};
  }
  if (!IsImage(q.program, x) || !IsImage(q.program, q.result())) {
    return Refusal{RefusalReason::kDynamicShape,
                   "rows of several sizes that vary"};
  }
  if (!q.is_constant(weight)) return Unknown("a filter");
  const auto groups = q.read.Int("groups");
  const auto transposed = q.read.Bool("transposed");
  if (!groups || *groups < 1 || !transposed ||
      !Pair(q.read, "stride", 1, is_row) ||
      !Pair(q.read, "padding", 0, is_row) ||
      !Pair(q.read, "dilation", 1, is_row) ||
      !Pair(q.read, "output_padding", 0, is_row)) {
    return Because("parameters that aren't known");
  }
  const std::vector<int64_t> w = q.sizes(weight);
  const int64_t out = q.sizes(q.result())[1];
  if (w[0] % *groups != 0 || (*transposed && out != w[1] * *groups) ||
      (!*transposed && out != w[0])) {
    return Because("channels that don't fit the groups");
  }
  if (bias.valid() && !IsKnownRow(q, bias, out)) return Unknown("a bias");
  return std::nullopt;
}

// y = x * scale + shift, channel by channel.
struct Affine {
  std::vector<double> scale, shift;
};

Affine AffineOf(GraphBuilder& graph, NodeId batch_norm) {
  const NodeReader read(graph.region(), batch_norm);
  const auto row = [&](std::string_view name, size_t i, double otherwise) {
    const ValueId v = read.value(name);
    if (!v.valid()) return otherwise;
    const Tensor& t = *graph.FindConstant(v);
    return double{t.data<float>()[static_cast<int64_t>(i) * t.stride(0)]};
  };
  const double eps = *read.Number("eps");
  const Tensor& mean = *graph.FindConstant(read.value("running_mean"));
  Affine out;
  for (size_t c = 0; c < static_cast<size_t>(mean.numel()); ++c) {
    const double scale =
        row("weight", c, 1) / std::sqrt(row("running_var", c, 1) + eps);
    out.scale.push_back(scale);
    out.shift.push_back(row("bias", c, 0) - row("running_mean", c, 0) * scale);
  }
  return out;
}

// A filter's copy, [out, in of a group, height, width], or of a transposed one
// [in, out of a group, ...], with each output channel scaled.
Tensor Scaled(const Tensor& filter, const std::vector<double>& scale,
              bool transposed, int64_t groups) {
  Tensor out = Tensor::Empty(DType::kFloat32, filter.sizes());
  out.CopyFrom(filter);
  const int64_t inner = out.size(2) * out.size(3);
  const int64_t per_group = out.size(0) / groups;
  float* to = out.mutable_data<float>();
  for (int64_t i = 0; i < out.size(0); ++i) {
    for (int64_t j = 0; j < out.size(1); ++j) {
      const int64_t channel = transposed ? i / per_group * out.size(1) + j : i;
      for (int64_t k = 0; k < inner; ++k, ++to) {
        *to = static_cast<float>(*to * scale[static_cast<size_t>(channel)]);
      }
    }
  }
  return out;
}

// [in, out of a group, h, w] -> [out, in of a group, h, w].
Tensor Turned(const Tensor& filter, int64_t groups) {
  const Tensor w = filter.Contiguous();
  const int64_t in = w.size(0) / groups, out = w.size(1);
  const int64_t inner = w.size(2) * w.size(3);
  const Tensor turned =
      w.View({groups, out, in, inner},
             {in * out * inner, inner, out * inner, 1}, w.offset())
          .Contiguous();
  return turned.View(
      {groups * out, in, w.size(2), w.size(3)},
      ContiguousStrides({groups * out, in, w.size(2), w.size(3)}),
      turned.offset());
}

// [out, in, width] -> [out, in, 1, width]; others as they are.
Tensor AsImages(const Tensor& filter) {
  if (filter.dim() == 4) return filter;
  const Sizes& s = filter.sizes();
  const Sizes& t = filter.strides();
  return filter.View({s[0], s[1], 1, s[2]}, {t[0], t[1], 0, t[2]},
                     filter.offset());
}

uint32_t AddBias(Task& t, ValueId bias, const Affine& affine) {
  const auto count = static_cast<int64_t>(affine.scale.size());
  Tensor out = Tensor::Empty(DType::kFloat32, {count});
  const Tensor* given = bias.valid() ? t.graph.FindConstant(bias) : nullptr;
  for (int64_t c = 0; c < count; ++c) {
    const auto i = static_cast<size_t>(c);
    const double before =
        given == nullptr ? 0
                         : double{given->data<float>()[c * given->stride(0)]};
    out.mutable_data<float>()[c] =
        static_cast<float>(before * affine.scale[i] + affine.shift[i]);
  }
  return t.graph.AddConstant(out, DimsOf(out));
}

// The matrix of a convolution that multiplies each place of an image by one,
// where its integers can be multiplied by as they are.
std::optional<QuantizedWeight> FindPlaceMatrix(Task& t) {
  const QuantizedWeight* weight = t.graph.FindWeight(t.read.value("weight"));
  const bool is_row = t.sizes(t.result).size() == 3;
  const auto are = [&](std::string_view parameter, int64_t number) {
    return *Pair(t.read, parameter, number, is_row) ==
           std::vector<int64_t>{number, number};
  };
  if (weight == nullptr || t.integers || t.batch_norm.valid() ||
      *t.read.Bool("transposed") || t.read.Int("groups") != 1 ||
      !are("stride", 1) || !are("padding", 0)) {
    return std::nullopt;
  }
  const Tensor q = AsImages(weight->integers).Contiguous();
  if (q.size(2) != 1 || q.size(3) != 1) return std::nullopt;
  QuantizedWeight out = *weight;
  out.integers = q.View({q.size(0), q.size(1)}, {q.size(1), 1}, q.offset());
  return HasOutputScales(out, false) ? std::optional(std::move(out))
                                     : std::nullopt;
}

void TranslateConvolution(Task& t, NodeKind) {
  if (const auto matrix = FindPlaceMatrix(t)) {
    const uint32_t in =
        t.graph.Get(t.read.value("input"), Order::kChannelsLast);
    const uint32_t by = AddMatrix(&t.graph, *matrix, false, true);
    return AddMixedProduct(t, in, by, t.read.value("bias"),
                           Order::kChannelsLast);
  }
  const int64_t groups = *t.read.Int("groups");
  const bool transposed = *t.read.Bool("transposed");
  const ValueId bias = t.read.value("bias");
  const QuantizedWeight* weight =
      t.integers ? t.graph.FindWeight(t.read.value("weight")) : nullptr;
  Tensor filter = AsImages(weight != nullptr
                               ? weight->integers
                               : *t.graph.FindConstant(t.read.value("weight")));
  const bool is_row = t.sizes(t.result).size() == 3;
  const int64_t in = transposed ? filter.size(0) / groups : filter.size(1);
  const int64_t out = transposed ? filter.size(1) : filter.size(0) / groups;
  const bool is_depthwise = !transposed && in == 1;
  Convolution node;
  node.padding = Around(*Pair(t.read, "padding", 0, is_row));
  Copy({filter.size(2), filter.size(3)}, node.kernel);
  Copy(*Pair(t.read, "stride", 1, is_row), node.stride);
  Copy(*Pair(t.read, "dilation", 1, is_row), node.dilation);
  Copy(*Pair(t.read, "output_padding", 0, is_row), node.adjustment);
  node.group_input_channels = static_cast<uint32_t>(in);
  node.group_output_channels = static_cast<uint32_t>(out);
  node.groups = static_cast<uint32_t>(groups);
  node.input = t.graph.Get(t.read.value("input"), Order::kChannelsLast);
  if (weight != nullptr) {
    node.bias =
        AddIntegerBias(t, *weight, t.read.value("input"), bias, groups * out);
  } else if (t.batch_norm.valid()) {
    const Affine affine = AffineOf(t.graph, t.batch_norm);
    filter = Scaled(filter, affine.scale, transposed, groups);
    node.bias = AddBias(t, bias, affine);
  } else {
    node.bias = bias.valid() ? t.graph.GetPacked(bias) : kNoId;
  }
  if (transposed) filter = Turned(filter, groups);
  if (is_depthwise) {
    filter =
        filter.View({1, filter.size(0), filter.size(2), filter.size(3)},
                    {0, filter.stride(0), filter.stride(2), filter.stride(3)},
                    filter.offset());
  }
  const Tensor last = WithChannelsLast(filter);
  node.filter = weight != nullptr
                    ? AddFilter(&t.graph, *weight, last, is_depthwise ? 3 : 0)
                    : t.graph.AddConstant(last, DimsOf(last));
  node.output = t.graph.Define(t.result, Order::kChannelsLast);
  t.graph.Add(transposed     ? NodeKind::kConvTranspose2d
              : is_depthwise ? NodeKind::kDepthwiseConv2d
                             : NodeKind::kConv2d,
              node, t.range);
}

// --- batch norm that no convolution took in ---

std::optional<Refusal> RefuseBatchNorm(const Question& q) {
  if (IsFixedBatchNorm(q)) return std::nullopt;
  return Unknown("a batch norm");
}

void TranslateBatchNorm(Task& t, NodeKind) {
  const ValueId x = t.read.value("input");
  const Affine affine = AffineOf(t.graph, t.node);
  const auto count = static_cast<int64_t>(affine.scale.size());
  const Order order = t.graph.OrderFor({x});
  const bool is_plain = order == Order::kPlain;
  std::vector<uint32_t> dims(is_plain ? t.sizes(x).size() : 4, 1);
  dims[is_plain ? 1 : 3] = static_cast<uint32_t>(count);
  Tensor scale = Tensor::Empty(DType::kFloat32, {count});
  Tensor shift = Tensor::Empty(DType::kFloat32, {count});
  for (int64_t c = 0; c < count; ++c) {
    const auto i = static_cast<size_t>(c);
    scale.mutable_data<float>()[c] = static_cast<float>(affine.scale[i]);
    shift.mutable_data<float>()[c] = static_cast<float>(affine.shift[i]);
  }
  const uint32_t in = t.graph.Get(x, order);
  const uint32_t by = t.graph.AddConstant(scale, dims);
  const uint32_t plus = t.graph.AddConstant(shift, dims);
  const uint32_t between = t.graph.Temporary(t.result, order);
  t.graph.Add(NodeKind::kMultiply, Binary{in, by, between, 0});
  t.graph.Add(NodeKind::kAdd,
              Binary{between, plus, t.graph.Define(t.result, order), 0},
              t.range);
}

constexpr Translation kTranslations[] = {
    {"aten.convolution.default", RefuseConvolution, TranslateConvolution,
     NodeKind::kConv2d, true},
    {"aten._native_batch_norm_legit_no_training.default", RefuseBatchNorm,
     TranslateBatchNorm, NodeKind::kMultiply, true},
};

}  // namespace

std::span<const Translation> ConvolutionTranslations() { return kTranslations; }

bool IsFixedBatchNorm(const Question& q) {
  if (q.program.node(q.node).kind != tenon::NodeKind::kOp ||
      q.program.op_name(q.node) !=
          "aten._native_batch_norm_legit_no_training.default") {
    return false;
  }
  const ValueRange results = q.program.node(q.node).results;
  for (uint32_t r = 1; r < results.count; ++r) {
    if (q.program.value(results[r]).num_uses > 0) return false;
  }
  const ValueId x = q.read.value("input");
  if (!x.valid() || q.rank(x) < 2 || !q.read.Number("eps")) return false;
  const int64_t channels = q.sizes(x)[1];
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const ValueId v = q.read.value(name);
    const bool may_lack = name[0] != 'r';
    if (!v.valid() && may_lack) continue;
    if (!IsKnownRow(q, v, channels)) return false;
  }
  return true;
}

}  // namespace tenon::xnnpack
