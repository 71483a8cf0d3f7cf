// Layers over images: pools, resizes. Images have their channels last.
#include <algorithm>

#include "xnnpack/image_parameters.h"
#include "xnnpack/translate.h"

namespace tenon::xnnpack {
namespace {

// --- pools ---

// Padding behind that gives as many results as PyTorch has: in ceil mode more.
uint32_t PaddingBehind(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                       int64_t dilation, int64_t padding) {
  const int64_t reach = (out - 1) * stride + dilation * (kernel - 1) + 1;
  return static_cast<uint32_t>(std::max(reach - in - padding, padding));
}

std::optional<Refusal> RefusePool(const Question& q) {
  const ValueId x = q.read.value("self");
  if (!x.valid() || q.rank(x) != 4) {
    return Refusal{RefusalReason::kRank, "a pool of other than images"};
  }
  const std::vector<SymInt>& in = q.program.type(x).sizes;
  if (!in[2].is_literal() || !in[3].is_literal()) {
    return Refusal{RefusalReason::kDynamicShape, "images of any size"};
  }
  if (!Pair(q.read, "kernel_size", 1) || !Pair(q.read, "padding", 0)) {
    return Because("parameters that aren't known");
  }
  const auto stride = q.read.Ints("stride");
  if (!stride || (!stride->empty() && !Pair(q.read, "stride", 1))) {
    return Because("a stride that isn't known");
  }
  return std::nullopt;
}

std::optional<Refusal> RefuseMaxPool(const Question& q) {
  if (auto refusal = RefusePool(q)) return refusal;
  const ValueRange results = q.program.node(q.node).results;
  if (results.count > 1 && q.program.value(results[1]).num_uses > 0) {
    return Because("indices of the largest elements");
  }
  const auto kernel = *Pair(q.read, "kernel_size", 1);
  // XNNPACK has no pool of a single element.
  if (kernel[0] * kernel[1] == 1) return Because("a pool of one element");
  return Pair(q.read, "dilation", 1)
             ? std::nullopt
             : std::optional(Because("a dilation that isn't known"));
}

std::optional<Refusal> RefuseAvgPool(const Question& q) {
  if (auto refusal = RefusePool(q)) return refusal;
  const auto padding = *Pair(q.read, "padding", 0);
  const auto kernel = *Pair(q.read, "kernel_size", 1);
  const bool is_padded = padding[0] != 0 || padding[1] != 0;
  if (is_padded && q.read.Bool("count_include_pad") != false) {
    return Because("an average that counts the padding");
  }
  if (q.read.Bool("ceil_mode") != false || !q.read.IsNone("divisor_override")) {
    return Because("ceil_mode or divisor_override");
  }
  if (kernel[0] * kernel[1] == 1) return Because("a pool of one element");
  return std::nullopt;
}

void TranslatePool(Task& t, NodeKind kind) {
  const ValueId x = t.read.value("self");
  const std::vector<int64_t> in = t.sizes(x), out = t.sizes(t.result);
  const auto kernel = *Pair(t.read, "kernel_size", 1);
  const auto stride = Pair(t.read, "stride", 1).value_or(kernel);
  const auto padding = *Pair(t.read, "padding", 0);
  const auto dilation = kind == NodeKind::kMaxPooling2d
                            ? *Pair(t.read, "dilation", 1)
                            : std::vector<int64_t>{1, 1};
  Pooling node;
  node.padding = Around(padding);
  node.padding.bottom = PaddingBehind(in[2], out[2], kernel[0], stride[0],
                                      dilation[0], padding[0]);
  node.padding.right = PaddingBehind(in[3], out[3], kernel[1], stride[1],
                                     dilation[1], padding[1]);
  Copy(kernel, node.kernel);
  Copy(stride, node.stride);
  Copy(dilation, node.dilation);
  node.input = t.graph.Get(x, Order::kChannelsLast);
  node.output = t.graph.Define(t.result, Order::kChannelsLast);
  t.graph.Add(kind, node);
}

// The mean over height and width, which stay as dimensions of one.
std::optional<Refusal> RefuseMean(const Question& q) {
  const ValueId x = q.read.value("self");
  auto dims = q.read.Ints("dim");
  if (!x.valid() || q.rank(x) != 4 || !dims || q.read.Bool("keepdim") != true ||
      !q.read.IsNone("dtype")) {
    return Because("a mean over other than height and width");
  }
  for (int64_t& d : *dims) d += d < 0 ? 4 : 0;
  std::sort(dims->begin(), dims->end());
  if (*dims != std::vector<int64_t>{2, 3}) {
    return Because("a mean over other than height and width");
  }
  return std::nullopt;
}

std::optional<Refusal> RefuseAdaptive(const Question& q) {
  const ValueId x = q.read.value("self");
  const auto size = q.read.Ints("output_size");
  if (x.valid() && q.rank(x) == 4 && size &&
      *size == std::vector<int64_t>{1, 1}) {
    return std::nullopt;
  }
  return Because("an output other than [1, 1]");
}

void TranslateGlobal(Task& t, NodeKind kind) {
  const uint32_t in = t.graph.Get(t.read.value("self"), Order::kChannelsLast);
  t.graph.Add(kind, Unary{in, t.graph.Define(t.result, Order::kChannelsLast),
                          kKeepDims});
}

// --- images of other sizes ---

// A factor that the program states counts, not the ratio of the sizes, which is
// what XNNPACK goes by: they have to agree.
std::optional<Refusal> RefuseResize(const Question& q) {
  const ValueId x = q.read.value("input");
  if (!x.valid() || q.rank(x) != 4 || !q.read.Bool("align_corners")) {
    return Because("a resize of other than images");
  }
  const std::vector<SymInt>& in = q.program.type(x).sizes;
  const std::vector<SymInt>& out = q.program.type(q.result()).sizes;
  for (const std::vector<SymInt>* sizes : {&in, &out}) {
    if (!(*sizes)[2].is_literal() || !(*sizes)[3].is_literal()) {
      return Refusal{RefusalReason::kDynamicShape, "images of any size"};
    }
  }
  if (q.read.IsNone("scale_factors")) return std::nullopt;
  const auto factors = q.read.Numbers("scale_factors");
  for (size_t i = 0; i < 2; ++i) {
    if (!factors || factors->size() != 2 ||
        (*factors)[i] * static_cast<double>(in[2 + i].value) !=
            static_cast<double>(out[2 + i].value)) {
      return Because("a factor other than the ratio of the sizes");
    }
  }
  return std::nullopt;
}

void TranslateResize(Task& t, NodeKind kind) {
  const std::vector<int64_t> out = t.sizes(t.result);
  ResizeBilinear node;
  node.height = static_cast<uint32_t>(out[2]);
  node.width = static_cast<uint32_t>(out[3]);
  node.flags = *t.read.Bool("align_corners") ? kAlignCorners : 0;
  node.input = t.graph.Get(t.read.value("input"), Order::kChannelsLast);
  node.output = t.graph.Define(t.result, Order::kChannelsLast);
  t.graph.Add(kind, node);
}

constexpr Translation kTranslations[] = {
    {"aten.avg_pool2d.default", RefuseAvgPool, TranslatePool,
     NodeKind::kAvgPooling2d},
    {"aten.max_pool2d.default", RefuseMaxPool, TranslatePool,
     NodeKind::kMaxPooling2d},
    {"aten.max_pool2d_with_indices.default", RefuseMaxPool, TranslatePool,
     NodeKind::kMaxPooling2d},
    {"aten.upsample_bilinear2d.vec", RefuseResize, TranslateResize,
     NodeKind::kResizeBilinear2d},
    {"aten.mean.dim", RefuseMean, TranslateGlobal,
     NodeKind::kGlobalAvgPooling2d},
    {"aten._adaptive_avg_pool2d.default", RefuseAdaptive, TranslateGlobal,
     NodeKind::kGlobalAvgPooling2d},
};

}  // namespace

std::span<const Translation> NeuralTranslations() { return kTranslations; }

}  // namespace tenon::xnnpack
