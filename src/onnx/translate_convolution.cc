// Convolutions of one to three dimensions.
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

// One number stands for all dimensions.
std::vector<int64_t> Spread(std::vector<int64_t> values, size_t count) {
  if (values.size() == 1) values.assign(count, values[0]);
  return values;
}

WhyNot Convolution(Task& t, std::string_view) {
  GraphBuilder& b = t.build;
  const int64_t rank = t.rank("input");
  if (rank < 3) return "an input without batch";
  if (!IsFloating(t.dtype())) return "a convolution of whole numbers";
  const auto dims = static_cast<size_t>(rank - 2);
  const auto stride = t.read.Ints("stride"), padding = t.read.Ints("padding"),
             dilation = t.read.Ints("dilation"),
             extra = t.read.Ints("output_padding");
  const auto transposed = t.read.Bool("transposed");
  const auto groups = t.read.Int("groups");
  if (!stride || !padding || !dilation || !extra || !transposed || !groups) {
    return "a parameter that is computed";
  }
  const std::vector<int64_t> steps = Spread(*stride, dims),
                             added = Spread(*extra, dims);
  for (size_t i = 0; i < dims && *transposed; ++i) {
    if (added[i] >= steps[i]) return "output_padding of a stride or more";
  }
  std::vector<int64_t> pads = Spread(*padding, dims);
  pads.insert(pads.end(), pads.begin(), pads.begin() + rank - 2);
  std::vector<Attribute> attributes = {
      IntsAttribute("strides", steps), IntsAttribute("pads", pads),
      IntsAttribute("dilations", Spread(*dilation, dims)),
      IntAttribute("group", *groups)};
  if (*transposed) {
    attributes.push_back(IntsAttribute("output_padding", added));
  }
  std::vector<std::string> operands = {t.In("input"), t.In("weight")};
  if (t.Has("bias")) operands.push_back(t.In("bias", t.dtype()));
  t.Give(b.Add(*transposed ? "ConvTranspose" : "Conv", operands,
               std::move(attributes)));
  return {};
}

constexpr Translation kTable[] = {{"aten.convolution.default", Convolution}};

}  // namespace

std::span<const Translation> ConvolutionTranslations() { return kTable; }

}  // namespace tenon::onnx
