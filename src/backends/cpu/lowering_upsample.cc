// Upsampling: along each spatial dimension, from the last to the first, an
// element of the result is a weighted sum of a few of the operand's, its taps
// (kernels/resampling.h). What lies inside of a dimension is computed in whole
// rows, which are longest where channels are last.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "backends/cpu/channels_last.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "kernels/resampling.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

// Along the middle dimension of [outer, in, inner].
struct ResampleShape {
  int64_t outer = 1, in = 1, out = 1, inner = 1;
  DType dtype = DType::kFloat32;  // of both; float32 or float64 to be weighed
  bool is_weighed = false;
  // Where the taps of each output element begin, and after the last.
  std::vector<int64_t> first;
  std::vector<int64_t> indices;
  std::vector<double> weights;
  Ref from, to;
};

class ResampleStep : public Step {
 public:
  explicit ResampleStep(ResampleShape shape) : s_(std::move(shape)) {}

  bool Run(Frame& frame) override {
    if (!s_.is_weighed) {
      Pick(frame.at<std::byte>(s_.from), frame.at<std::byte>(s_.to));
    } else if (s_.dtype == DType::kFloat64) {
      Weigh(frame.at<double>(s_.from), frame.at<double>(s_.to));
    } else {
      Weigh(frame.at<float>(s_.from), frame.at<float>(s_.to));
    }
    return true;
  }
  std::string_view name() const override { return "resample"; }

 private:
  // One tap of weight 1 for each element.
  void Pick(const std::byte* from, std::byte* to) const {
    const auto row = static_cast<size_t>(s_.inner) * SizeBytes(s_.dtype);
    const auto step = static_cast<int64_t>(row);
    for (int64_t o = 0; o < s_.outer; ++o, from += s_.in * step) {
      if (s_.inner == 1 && row == 4) {
        PickSingle<uint32_t>(from, to);
        to += s_.out * step;
        continue;
      }
      for (int64_t i = 0; i < s_.out; ++i, to += row) {
        std::memcpy(to, from + s_.indices[static_cast<size_t>(i)] * step, row);
      }
    }
  }

  template <typename T>
  void PickSingle(const std::byte* from, std::byte* to) const {
    const T* in = reinterpret_cast<const T*>(from);
    T* out = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < s_.out; ++i) {
      out[i] = in[s_.indices[static_cast<size_t>(i)]];
    }
  }

  template <typename T>
  void Weigh(const T* from, T* to) const {
    for (int64_t o = 0; o < s_.outer; ++o, from += s_.in * s_.inner) {
      for (int64_t i = 0; i < s_.out; ++i, to += s_.inner)
        WeighRow(from, i, to);
    }
  }

  template <typename T>
  void WeighRow(const T* from, int64_t i, T* to) const {
    const auto begin = static_cast<size_t>(s_.first[static_cast<size_t>(i)]);
    const auto end = static_cast<size_t>(s_.first[static_cast<size_t>(i) + 1]);
    const int64_t inner = s_.inner;
    if (inner == 1) {
      T sum = 0;
      for (size_t t = begin; t < end; ++t) {
        sum += static_cast<T>(s_.weights[t]) * from[s_.indices[t]];
      }
      *to = sum;
      return;
    }
    if (end - begin == 2) {
      const T *a = from + s_.indices[begin] * inner,
              *b = from + s_.indices[begin + 1] * inner;
      const T u = static_cast<T>(s_.weights[begin]);
      const T v = static_cast<T>(s_.weights[begin + 1]);
      for (int64_t k = 0; k < inner; ++k) to[k] = u * a[k] + v * b[k];
      return;
    }
    std::fill_n(to, inner, T(0));
    for (size_t t = begin; t < end; ++t) {
      const T* row = from + s_.indices[t] * inner;
      const T weight = static_cast<T>(s_.weights[t]);
      for (int64_t k = 0; k < inner; ++k) to[k] += weight * row[k];
    }
  }

  const ResampleShape s_;
};

// Taps of weight 0 don't count, whatever lies there.
void SetTaps(Resampling kind, const ResampledAxis& axis, ResampleShape* s) {
  s->in = axis.in;
  s->out = axis.out;
  s->is_weighed = HasAlignCorners(kind);
  for (const auto& taps : FindTaps(kind, axis)) {
    s->first.push_back(static_cast<int64_t>(s->indices.size()));
    for (const ResamplingTap& tap : taps) {
      if (tap.weight == 0) continue;
      s->indices.push_back(tap.index);
      s->weights.push_back(tap.weight);
    }
  }
  s->first.push_back(static_cast<int64_t>(s->indices.size()));
}

// `x` [N, C, ...] is contiguous, or has its channels last.
Tensor EmitAxis(PlanBuilder& b, const Tensor& x, int64_t dim, Resampling kind,
                const ResampledAxis& axis, bool is_channels_last) {
  Sizes sizes = x.sizes();
  sizes[dim] = axis.out;
  const Tensor out =
      b.NewTensor(x.dtype(), sizes,
                  is_channels_last ? StridesWithChannelsLast(sizes)
                                   : ContiguousStrides(sizes));
  if (!out.defined()) return out;
  ResampleShape s;
  SetTaps(kind, axis, &s);
  s.dtype = x.dtype();
  s.inner = x.stride(dim);
  s.outer = x.numel() / (s.inner * axis.in);
  s.from = b.RefOf(x);
  s.to = b.RefOf(out);
  const Tensor reads[] = {x};
  const Tensor writes[] = {out};
  b.Emit(std::make_unique<ResampleStep>(std::move(s)), reads, writes);
  return out;
}

bool Resample(PlanBuilder& b, KernelCall& call, Resampling kind,
              const std::vector<ResampledAxis>& axes) {
  const Tensor& given = call.tensor(0);
  Sizes sizes = given.sizes();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].in <= 0 || axes[i].out <= 0) {
      return call.Fail("input and output sizes must be positive");
    }
    sizes[i + 2] = axes[i].out;
  }
  if (!CheckSizes(call, sizes)) return false;
  if (sizes[1] == 0) return call.Fail("no channels");
  const Tensor out = b.NewTensor(given.dtype(), sizes,
                                 StridesFor(sizes, SuggestedFormat(given)));
  if (!out.defined()) return call.Fail("the result is too large");
  call.Return(out);
  if (out.numel() == 0) return true;
  const bool has_twin = given.dim() == 3 || given.dim() == 4;
  Tensor x = has_twin ? b.FindChannelsLast(given) : Tensor();
  const bool is_last = x.defined() && !x.is_contiguous();
  if (!is_last) x = b.Contiguous(given);
  if (!x.defined()) return call.Fail("cannot copy " + given.ToString());
  for (size_t i = axes.size(); i-- > 0;) {
    x = EmitAxis(b, x, static_cast<int64_t>(i) + 2, kind, axes[i], is_last);
    if (!x.defined()) return call.Fail("the result is too large");
  }
  if (is_last && !HasChannelsLast(out)) {
    b.SetChannelsLast(out, x);
    return true;
  }
  return b.EmitCopy(x, out) || call.Fail("cannot copy the result");
}

bool MakeAxes(KernelCall& call, int spatial, std::vector<ResampledAxis>* axes) {
  const Tensor& x = call.tensor(0);
  if (x.dim() != spatial + 2) {
    return call.Fail("expected a tensor of rank " +
                     std::to_string(spatial + 2) + ", found " + x.ToString());
  }
  axes->resize(static_cast<size_t>(spatial));
  for (size_t i = 0; i < axes->size(); ++i) (*axes)[i].in = x.sizes()[i + 2];
  return true;
}

bool SetOutputs(KernelCall& call, const Sizes& sizes,
                std::vector<ResampledAxis>* axes) {
  if (sizes.size() != axes->size()) {
    return call.Fail("expected " + std::to_string(axes->size()) + " sizes");
  }
  for (size_t i = 0; i < axes->size(); ++i) (*axes)[i].out = sizes[i];
  return true;
}

// (self, output_size, [align_corners,] scales..)
template <Resampling kKind, int kSpatial>
bool Upsample(PlanBuilder& b, KernelCall& call, const Lowering&) {
  std::vector<ResampledAxis> axes;
  if (!MakeAxes(call, kSpatial, &axes)) return false;
  size_t next = 2;
  const bool align = HasAlignCorners(kKind) && call.Bool(next++);
  for (ResampledAxis& axis : axes) {
    axis.align_corners = align;
    if (!call.is_none(next)) axis.scale = call.Float(next);
    ++next;
  }
  return SetOutputs(call, call.Ints(1), &axes) &&
         Resample(b, call, kKind, axes);
}

// (input, output_size?, [align_corners,] scale_factors?): one of the two.
template <Resampling kKind, int kSpatial>
bool UpsampleVec(PlanBuilder& b, KernelCall& call, const Lowering&) {
  constexpr size_t kScales = HasAlignCorners(kKind) ? 3 : 2;
  std::vector<ResampledAxis> axes;
  if (!MakeAxes(call, kSpatial, &axes)) return false;
  if (call.is_none(1) == call.is_none(kScales)) {
    return call.Fail("expected either output_size or scale_factors");
  }
  for (ResampledAxis& axis : axes) {
    axis.align_corners = HasAlignCorners(kKind) && call.Bool(2);
  }
  if (!call.is_none(1)) {
    return SetOutputs(call, call.Ints(1), &axes) &&
           Resample(b, call, kKind, axes);
  }
  const std::vector<double> scales = call.Floats(kScales);
  if (scales.size() != axes.size()) {
    return call.Fail("expected " + std::to_string(kSpatial) + " scale_factors");
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const double size = static_cast<double>(axes[i].in) * scales[i];
    if (!(size >= 0 && size < 0x1p40)) return call.Fail("bad scale factor");
    axes[i].out = static_cast<int64_t>(size);
    axes[i].scale = scales[i];
  }
  return Resample(b, call, kKind, axes);
}

std::optional<Refusal> RefuseIntegers(const Program& program, NodeId node) {
  for (const char* name : {"self", "input"}) {
    const Arg* x = program.FindArg(node, name);
    if (x == nullptr || !x->is_value()) continue;
    const DType dtype = program.type(x->value()).dtype;
    if (!IsFloating(dtype) && dtype != DType::kUInt8) {
      return Refusal{RefusalReason::kDtype, std::string(Name(dtype))};
    }
  }
  return std::nullopt;
}

template <Resampling kKind, int kSpatial>
constexpr Lowering Nearest(std::string_view name, bool is_vec) {
  return {name,
          LoweringKind::kPure,
          is_vec ? UpsampleVec<kKind, kSpatial> : Upsample<kKind, kSpatial>,
          DTypeRule::kHeld,
          TileOp::kCopy,
          RefuseIntegers};
}
std::optional<Refusal> RefuseAllIntegers(const Program& program, NodeId node) {
  const ValueRange results = program.node(node).results;
  const DType dtype = program.type(results[0]).dtype;
  if (IsFloating(dtype)) return std::nullopt;
  return Refusal{RefusalReason::kDtype, std::string(Name(dtype))};
}

template <Resampling kKind, int kSpatial>
constexpr Lowering Weighed(std::string_view name, bool is_vec) {
  return {name,
          LoweringKind::kPure,
          is_vec ? UpsampleVec<kKind, kSpatial> : Upsample<kKind, kSpatial>,
          DTypeRule::kWidened,
          TileOp::kCopy,
          RefuseAllIntegers};
}

using enum Resampling;

constexpr Lowering kLowerings[] = {
    Nearest<kNearest, 1>("aten.upsample_nearest1d.default", false),
    Nearest<kNearest, 2>("aten.upsample_nearest2d.default", false),
    Nearest<kNearest, 3>("aten.upsample_nearest3d.default", false),
    Nearest<kNearestExact, 1>("aten._upsample_nearest_exact1d.default", false),
    Nearest<kNearestExact, 2>("aten._upsample_nearest_exact2d.default", false),
    Nearest<kNearestExact, 3>("aten._upsample_nearest_exact3d.default", false),
    Nearest<kNearest, 1>("aten.upsample_nearest1d.vec", true),
    Nearest<kNearest, 2>("aten.upsample_nearest2d.vec", true),
    Nearest<kNearest, 3>("aten.upsample_nearest3d.vec", true),
    Nearest<kNearestExact, 1>("aten._upsample_nearest_exact1d.vec", true),
    Nearest<kNearestExact, 2>("aten._upsample_nearest_exact2d.vec", true),
    Nearest<kNearestExact, 3>("aten._upsample_nearest_exact3d.vec", true),
    Weighed<kLinear, 1>("aten.upsample_linear1d.default", false),
    Weighed<kLinear, 2>("aten.upsample_bilinear2d.default", false),
    Weighed<kLinear, 3>("aten.upsample_trilinear3d.default", false),
    Weighed<kCubic, 2>("aten.upsample_bicubic2d.default", false),
    Weighed<kLinearAntialias, 2>("aten._upsample_bilinear2d_aa.default", false),
    Weighed<kCubicAntialias, 2>("aten._upsample_bicubic2d_aa.default", false),
    Weighed<kLinear, 1>("aten.upsample_linear1d.vec", true),
    Weighed<kLinear, 2>("aten.upsample_bilinear2d.vec", true),
    Weighed<kLinear, 3>("aten.upsample_trilinear3d.vec", true),
    Weighed<kCubic, 2>("aten.upsample_bicubic2d.vec", true),
    Weighed<kLinearAntialias, 2>("aten._upsample_bilinear2d_aa.vec", true),
    Weighed<kCubicAntialias, 2>("aten._upsample_bicubic2d_aa.vec", true),
};

}  // namespace

std::span<const Lowering> UpsampleLowerings() { return kLowerings; }

}  // namespace tenon::cpu
