// Images of other sizes.
#include "onnx/task.h"

namespace tenon::onnx {
namespace {

// By sizes or by factors: what isn't given follows from the other, and from it
// which elements are read.
WhyNot Resize(Task& t, std::string_view mode) {
  GraphBuilder& b = t.build;
  const auto rank = t.rank(t.arg("input") != nullptr ? "input" : "self");
  const std::string x = t.In(t.arg("input") != nullptr ? "input" : "self");
  const bool is_nearest = mode == "nearest";
  if (!is_nearest && !IsFloating(t.dtype())) return "bytes between bytes";
  const bool aligns =
      !is_nearest && t.read.Bool("align_corners").value_or(false);
  std::vector<Attribute> attributes = {
      TextAttribute("mode", is_nearest ? "nearest" : "linear"),
      TextAttribute("coordinate_transformation_mode", is_nearest ? "asymmetric"
                                                      : aligns ? "align_corners"
                                                               : "half_pixel")};
  if (is_nearest) attributes.push_back(TextAttribute("nearest_mode", "floor"));
  std::vector<double> factors;
  if (t.program.schema(t.node)->FindArg("scale_factors") >= 0 &&
      t.Has("scale_factors")) {
    for (const Arg& a : t.Items("scale_factors")) {
      if (a.kind != ArgKind::kFloat) return "a factor that is computed";
      factors.push_back(a.f);
    }
  }
  if (!factors.empty() && aligns) {
    // The corners decide, so the factors only say how many there are.
    std::string sizes = b.Slice(b.Shape(x), 0, 0, 2);
    std::vector<std::string> parts = {sizes};
    for (int64_t d = 2; d < rank; ++d) {
      const auto size = LiteralSize(t.type(), d);
      if (!size) return "factors of a size that varies, with aligned corners";
      parts.push_back(b.Ints({*size}));
    }
    sizes = b.Add("Concat", parts, {IntAttribute("axis", 0)});
    t.Give(b.Add("Resize", {x, "", "", sizes}, attributes));
    return {};
  }
  if (!factors.empty()) {
    TensorValue scales;
    scales.dims = {rank};
    for (int64_t d = 0; d < rank; ++d) {
      const size_t at = static_cast<size_t>(d);
      const float scale = d < 2 ? 1.0f : static_cast<float>(factors[at - 2]);
      scales.bytes.append(reinterpret_cast<const char*>(&scale), sizeof(scale));
    }
    t.Give(b.Add("Resize",
                 {x, "", b.Constant(std::move(scales), DType::kFloat32)},
                 attributes));
    return {};
  }
  for (const std::string_view p : {"scales_h", "scales_w", "scales"}) {
    if (t.program.schema(t.node)->FindArg(p) >= 0 && t.Has(p)) {
      return "both sizes and factors";
    }
  }
  const std::string front = b.Slice(b.Shape(x), 0, 0, 2);
  const std::string sizes = b.Add("Concat", {front, t.IntList("output_size")},
                                  {IntAttribute("axis", 0)});
  t.Give(b.Add("Resize", {x, "", "", sizes}, attributes));
  return {};
}

WhyNot GridSample(Task& t, std::string_view) {
  const auto mode = t.read.Int("interpolation_mode"),
             padding = t.read.Int("padding_mode");
  const auto aligns = t.read.Bool("align_corners");
  if (!mode || !padding || !aligns) return "a mode that is computed";
  constexpr const char* kModes[] = {"linear", "nearest", "cubic"};
  constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};
  if (*mode < 0 || *mode > 2 || *padding < 0 || *padding > 2) {
    return "a mode that isn't known";
  }
  t.Give(t.build.Add("GridSample", {t.In("input"), t.In("grid")},
                     {TextAttribute("mode", kModes[*mode]),
                      TextAttribute("padding_mode", kPaddings[*padding]),
                      IntAttribute("align_corners", *aligns ? 1 : 0)}));
  return {};
}

constexpr Translation kTable[] = {
    {"aten.upsample_nearest1d.vec", Resize, "nearest"},
    {"aten.upsample_nearest2d.vec", Resize, "nearest"},
    {"aten.upsample_nearest2d.default", Resize, "nearest"},
    {"aten.upsample_bilinear2d.vec", Resize, "linear"},
    {"aten.upsample_bilinear2d.default", Resize, "linear"},
    {"aten.grid_sampler_2d.default", GridSample},
};

}  // namespace

std::span<const Translation> ResizeTranslations() { return kTable; }

}  // namespace tenon::onnx
