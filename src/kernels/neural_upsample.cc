// Upsampling, and downsampling with antialiasing.
//
// All kinds are separable (resampling.h): along each dimension an output
// element is a weighted sum of a few input elements, and the gradient is the
// same sum read backwards.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/resampling.h"
#include "kernels/views.h"

namespace tenon {
namespace {

using Kind = Resampling;
using Axis = ResampledAxis;
using Tap = ResamplingTap;
using Taps = ResamplingTaps;

// Along the middle dimension of [outer, in, inner].
std::vector<double> ApplyTaps(const std::vector<double>& from, const Axis& a,
                              const Taps& taps, int64_t inner, bool backward) {
  const int64_t outer =
      static_cast<int64_t>(from.size()) / ((backward ? a.out : a.in) * inner);
  const int64_t result = backward ? a.in : a.out;
  std::vector<double> to(static_cast<size_t>(outer * result * inner));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < a.out; ++i) {
      for (const Tap& tap : taps[static_cast<size_t>(i)]) {
        const int64_t in_row = (o * a.in + tap.index) * inner;
        const int64_t out_row = (o * a.out + i) * inner;
        for (int64_t k = 0; k < inner; ++k) {
          if (backward) {
            to[static_cast<size_t>(in_row + k)] +=
                tap.weight * from[static_cast<size_t>(out_row + k)];
          } else if (tap.weight != 0) {
            to[static_cast<size_t>(out_row + k)] +=
                tap.weight * from[static_cast<size_t>(in_row + k)];
          }
        }
      }
    }
  }
  return to;
}

// `axes` are those of the last dimensions of [N, C, ...]. Forward from their
// `in` sizes to their `out` sizes, or backward.
bool Resample(KernelCall& call, Kind kind, const Tensor& from,
              const std::vector<Axis>& axes, bool backward) {
  const DType dtype = from.dtype();
  if (!IsFloating(dtype) && dtype != DType::kUInt8) {
    return call.Fail("upsample of " + from.ToString());
  }
  Sizes sizes = {from.size(0), from.size(1)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& a = axes[i];
    if (a.in <= 0 || a.out <= 0) {
      return call.Fail("upsample: input and output sizes must be positive");
    }
    if (from.size(2 + static_cast<int64_t>(i)) != (backward ? a.out : a.in)) {
      return call.Fail("upsample: the gradient doesn't fit the sizes");
    }
    sizes.push_back(backward ? a.in : a.out);
  }
  if (from.size(1) == 0) return call.Fail("upsample: no channels");
  Tensor out;
  if (!CheckSizes(call, sizes) ||
      !Allocate(call, dtype, sizes, StridesFor(sizes, SuggestedFormat(from)),
                &out)) {
    return false;
  }
  if (out.numel() > 0) {
    std::vector<double> values = ReadAll<double>(from);
    // Innermost first: what lies inside a dimension has been resampled.
    int64_t inner = 1;
    for (size_t i = axes.size(); i-- > 0;) {
      values =
          ApplyTaps(values, axes[i], FindTaps(kind, axes[i]), inner, backward);
      inner *= backward ? axes[i].in : axes[i].out;
      // PyTorch keeps bytes between the passes as well.
      if (dtype == DType::kUInt8) {
        for (double& v : values) v = std::clamp(std::round(v), 0.0, 255.0);
      }
    }
    WriteAll(&out, values);
  }
  call.Return(out);
  return true;
}

bool CheckInput(KernelCall& call, const Tensor& input, int spatial) {
  if (input.dim() == spatial + 2) return true;
  return call.Fail("upsample: expected a tensor of rank " +
                   std::to_string(spatial + 2) + ", found " + input.ToString());
}

bool SetSizes(KernelCall& call, const Sizes& in, const Sizes& out,
              std::vector<Axis>* axes) {
  if (in.size() != axes->size() || out.size() != axes->size()) {
    return call.Fail("upsample: expected " + std::to_string(axes->size()) +
                     " sizes");
  }
  for (size_t i = 0; i < axes->size(); ++i) {
    (*axes)[i].in = in[i];
    (*axes)[i].out = out[i];
  }
  return true;
}

// (self, output_size, [align_corners,] scales..)
template <Kind kKind, int kSpatial>
bool Upsample(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  if (!CheckInput(call, input, kSpatial)) return false;
  std::vector<Axis> axes(kSpatial);
  size_t next = 2;
  const bool align = HasAlignCorners(kKind) && call.Bool(next++);
  for (Axis& axis : axes) {
    axis.align_corners = align;
    if (!call.is_none(next)) axis.scale = call.Float(next);
    ++next;
  }
  return SetSizes(call, {input.sizes().begin() + 2, input.sizes().end()},
                  call.Ints(1), &axes) &&
         Resample(call, kKind, input, axes, false);
}

// (input, output_size?, [align_corners,] scale_factors?): one of the two.
template <Kind kKind, int kSpatial>
bool UpsampleVec(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  if (!CheckInput(call, input, kSpatial)) return false;
  const size_t scale_arg = HasAlignCorners(kKind) ? 3 : 2;
  if (call.is_none(1) == call.is_none(scale_arg)) {
    return call.Fail("upsample: expected either output_size or scale_factors");
  }
  std::vector<Axis> axes(kSpatial);
  for (Axis& axis : axes) {
    axis.align_corners = HasAlignCorners(kKind) && call.Bool(2);
  }
  const Sizes in(input.sizes().begin() + 2, input.sizes().end());
  Sizes out = call.Ints(1);
  if (call.is_none(1)) {
    const std::vector<double> scales = call.Floats(scale_arg);
    if (scales.size() != kSpatial) {
      return call.Fail("upsample: expected " + std::to_string(kSpatial) +
                       " scale_factors");
    }
    for (size_t i = 0; i < scales.size(); ++i) {
      const double size = static_cast<double>(in[i]) * scales[i];
      if (!(size >= 0 && size < 0x1p40)) {
        return call.Fail("upsample: bad scale factor");
      }
      out.push_back(static_cast<int64_t>(size));
      axes[i].scale = scales[i];
    }
  }
  return SetSizes(call, in, out, &axes) &&
         Resample(call, kKind, input, axes, false);
}

// (grad_output, output_size, input_size, [align_corners,] scales..)
template <Kind kKind, int kSpatial>
bool UpsampleBackward(KernelCall& call) {
  const Tensor& grad = call.tensor(0);
  const Sizes input_size = call.Ints(2);
  if (!CheckInput(call, grad, kSpatial)) return false;
  if (input_size.size() != kSpatial + 2 || input_size[0] != grad.size(0) ||
      input_size[1] != grad.size(1)) {
    return call.Fail("upsample backward: bad input_size");
  }
  std::vector<Axis> axes(kSpatial);
  size_t next = 3;
  const bool align = HasAlignCorners(kKind) && call.Bool(next++);
  for (Axis& axis : axes) {
    axis.align_corners = align;
    if (!call.is_none(next)) axis.scale = call.Float(next);
    ++next;
  }
  return SetSizes(call, {input_size.begin() + 2, input_size.end()},
                  call.Ints(1), &axes) &&
         Resample(call, kKind, grad, axes, true);
}

constexpr KernelEntry kEntries[] = {
    {"aten.upsample_nearest1d.default", Upsample<Kind::kNearest, 1>},
    {"aten.upsample_nearest2d.default", Upsample<Kind::kNearest, 2>},
    {"aten.upsample_nearest3d.default", Upsample<Kind::kNearest, 3>},
    {"aten._upsample_nearest_exact1d.default",
     Upsample<Kind::kNearestExact, 1>},
    {"aten._upsample_nearest_exact2d.default",
     Upsample<Kind::kNearestExact, 2>},
    {"aten._upsample_nearest_exact3d.default",
     Upsample<Kind::kNearestExact, 3>},
    {"aten.upsample_linear1d.default", Upsample<Kind::kLinear, 1>},
    {"aten.upsample_bilinear2d.default", Upsample<Kind::kLinear, 2>},
    {"aten.upsample_trilinear3d.default", Upsample<Kind::kLinear, 3>},
    {"aten.upsample_bicubic2d.default", Upsample<Kind::kCubic, 2>},
    {"aten._upsample_bilinear2d_aa.default",
     Upsample<Kind::kLinearAntialias, 2>},
    {"aten._upsample_bicubic2d_aa.default", Upsample<Kind::kCubicAntialias, 2>},
    {"aten.upsample_nearest1d.vec", UpsampleVec<Kind::kNearest, 1>},
    {"aten.upsample_nearest2d.vec", UpsampleVec<Kind::kNearest, 2>},
    {"aten.upsample_nearest3d.vec", UpsampleVec<Kind::kNearest, 3>},
    {"aten._upsample_nearest_exact1d.vec", UpsampleVec<Kind::kNearestExact, 1>},
    {"aten._upsample_nearest_exact2d.vec", UpsampleVec<Kind::kNearestExact, 2>},
    {"aten._upsample_nearest_exact3d.vec", UpsampleVec<Kind::kNearestExact, 3>},
    {"aten.upsample_linear1d.vec", UpsampleVec<Kind::kLinear, 1>},
    {"aten.upsample_bilinear2d.vec", UpsampleVec<Kind::kLinear, 2>},
    {"aten.upsample_trilinear3d.vec", UpsampleVec<Kind::kLinear, 3>},
    {"aten.upsample_bicubic2d.vec", UpsampleVec<Kind::kCubic, 2>},
    {"aten._upsample_bilinear2d_aa.vec",
     UpsampleVec<Kind::kLinearAntialias, 2>},
    {"aten._upsample_bicubic2d_aa.vec", UpsampleVec<Kind::kCubicAntialias, 2>},
    {"aten.upsample_nearest1d_backward.default",
     UpsampleBackward<Kind::kNearest, 1>},
    {"aten.upsample_nearest2d_backward.default",
     UpsampleBackward<Kind::kNearest, 2>},
    {"aten.upsample_nearest3d_backward.default",
     UpsampleBackward<Kind::kNearest, 3>},
    {"aten._upsample_nearest_exact1d_backward.default",
     UpsampleBackward<Kind::kNearestExact, 1>},
    {"aten._upsample_nearest_exact2d_backward.default",
     UpsampleBackward<Kind::kNearestExact, 2>},
    {"aten._upsample_nearest_exact3d_backward.default",
     UpsampleBackward<Kind::kNearestExact, 3>},
    {"aten.upsample_linear1d_backward.default",
     UpsampleBackward<Kind::kLinear, 1>},
    {"aten.upsample_bilinear2d_backward.default",
     UpsampleBackward<Kind::kLinear, 2>},
    {"aten.upsample_trilinear3d_backward.default",
     UpsampleBackward<Kind::kLinear, 3>},
    {"aten.upsample_bicubic2d_backward.default",
     UpsampleBackward<Kind::kCubic, 2>},
    {"aten._upsample_bilinear2d_aa_backward.default",
     UpsampleBackward<Kind::kLinearAntialias, 2>},
};

}  // namespace

std::span<const KernelEntry> UpsampleKernels() { return kEntries; }

}  // namespace tenon
