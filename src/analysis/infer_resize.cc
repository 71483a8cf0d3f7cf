// Resampling: the last sizes are given, or by factors.
#include "analysis/infer_call.h"
#include "analysis/infer_sizes.h"

namespace tenon {
namespace {

// A row's parameter: how many dimensions, where their sizes stand, and whether
// a second result has indices, or factors stand in the last parameter.
enum Form : uint32_t { kPlain, kIndices, kScaled };
constexpr uint32_t P(uint32_t dims, uint32_t sizes = 1, Form form = kPlain) {
  return dims | sizes << 4 | static_cast<uint32_t>(form) << 8;
}

// A size times a factor, cut to a whole number as PyTorch does.
InferredSize Scaled(const InferredSize& size, const Arg& factor) {
  if (!size.is_literal() || factor.kind != ArgKind::kFloat) {
    return InferredSize::Unknown();
  }
  const double scaled = static_cast<double>(size.value) * factor.f;
  if (!(scaled >= 0 && scaled < 1e15)) return InferredSize::Unknown();
  return InferredSize::Literal(static_cast<int64_t>(scaled));
}

void Resize(InferCall& call, uint32_t parameter) {
  const Type* self = call.Self();
  const auto dims = static_cast<int>(parameter & 15);
  const auto form = static_cast<Form>(parameter >> 8);
  if (self == nullptr || self->rank() < dims) return;
  const auto sizes = call.Sizes(parameter >> 4 & 15);
  const auto factors = form == kScaled ? call.Items(call.num_parameters() - 1)
                                       : std::span<const Arg>();
  if (sizes && sizes->size() != 1 &&
      sizes->size() != static_cast<size_t>(dims)) {
    return;
  }
  InferredType& out = call.AddLike(*self);
  for (int d = 0; d < dims; ++d) {
    InferredSize& size = out.sizes[out.rank - dims + d];
    const auto at = static_cast<size_t>(d);
    if (sizes) {
      size = sizes->size() == 1 ? sizes->front() : (*sizes)[at];
    } else if (factors.size() == static_cast<size_t>(dims)) {
      size = Scaled(size, factors[at]);
    } else {
      size = InferredSize::Unknown();
    }
  }
  if (form == kIndices) call.Add(out).dtype = DType::kInt64;
}

constexpr InferRow kRows[] = {
    {"aten.adaptive_avg_pool1d.default", Resize, P(1)},
    {"aten.adaptive_avg_pool2d.default", Resize, P(2)},
    {"aten._adaptive_avg_pool2d.default", Resize, P(2)},
    {"aten.adaptive_avg_pool3d.default", Resize, P(3)},
    {"aten._adaptive_avg_pool3d.default", Resize, P(3)},
    {"aten.adaptive_max_pool1d.default", Resize, P(1, 1, kIndices)},
    {"aten.adaptive_max_pool2d.default", Resize, P(2, 1, kIndices)},
    {"aten.adaptive_max_pool3d.default", Resize, P(3, 1, kIndices)},
    {"aten.fractional_max_pool2d.default", Resize, P(2, 2, kIndices)},
    {"aten.fractional_max_pool3d.default", Resize, P(3, 2, kIndices)},
    {"aten.max_unpool2d.default", Resize, P(2, 2)},
    {"aten.max_unpool3d.default", Resize, P(3, 2)},
    {"aten.upsample_nearest1d.default", Resize, P(1)},
    {"aten.upsample_nearest1d.vec", Resize, P(1, 1, kScaled)},
    {"aten.upsample_nearest2d.default", Resize, P(2)},
    {"aten.upsample_nearest2d.vec", Resize, P(2, 1, kScaled)},
    {"aten.upsample_nearest3d.default", Resize, P(3)},
    {"aten.upsample_nearest3d.vec", Resize, P(3, 1, kScaled)},
    {"aten._upsample_nearest_exact1d.default", Resize, P(1)},
    {"aten._upsample_nearest_exact1d.vec", Resize, P(1, 1, kScaled)},
    {"aten._upsample_nearest_exact2d.default", Resize, P(2)},
    {"aten._upsample_nearest_exact2d.vec", Resize, P(2, 1, kScaled)},
    {"aten._upsample_nearest_exact3d.default", Resize, P(3)},
    {"aten._upsample_nearest_exact3d.vec", Resize, P(3, 1, kScaled)},
    {"aten.upsample_linear1d.default", Resize, P(1)},
    {"aten.upsample_linear1d.vec", Resize, P(1, 1, kScaled)},
    {"aten.upsample_bilinear2d.default", Resize, P(2)},
    {"aten.upsample_bilinear2d.vec", Resize, P(2, 1, kScaled)},
    {"aten.upsample_bicubic2d.default", Resize, P(2)},
    {"aten.upsample_bicubic2d.vec", Resize, P(2, 1, kScaled)},
    {"aten.upsample_trilinear3d.default", Resize, P(3)},
    {"aten.upsample_trilinear3d.vec", Resize, P(3, 1, kScaled)},
    {"aten._upsample_bilinear2d_aa.default", Resize, P(2)},
    {"aten._upsample_bilinear2d_aa.vec", Resize, P(2, 1, kScaled)},
    {"aten._upsample_bicubic2d_aa.default", Resize, P(2)},
    {"aten._upsample_bicubic2d_aa.vec", Resize, P(2, 1, kScaled)},
};

}  // namespace

std::span<const InferRow> ResizeRows() { return kRows; }

}  // namespace tenon
