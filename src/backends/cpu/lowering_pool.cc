// Pooling over two spatial dimensions.
#include <algorithm>
#include <limits>
#include <string>

#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

struct PoolShape {
  int64_t planes = 0;
  int64_t in_size[2], out_size[2], kernel[2], stride[2], padding[2],
      dilation[2] = {1, 1};
  bool counts_padding = true;
  int64_t divisor = 0;  // 0 = the window's size
  bool has_indices = false;
  Ref x, out, indices;

  int64_t in_plane() const { return in_size[0] * in_size[1]; }
  int64_t out_plane() const { return out_size[0] * out_size[1]; }
};

// The part of a window that lies inside the input.
struct Window {
  int64_t begin[2], end[2];
};

Window WindowAt(const PoolShape& s, int64_t oh, int64_t ow) {
  Window w;
  const int64_t at[2] = {oh, ow};
  for (int d = 0; d < 2; ++d) {
    w.begin[d] = at[d] * s.stride[d] - s.padding[d];
    w.end[d] = std::min(w.begin[d] + (s.kernel[d] - 1) * s.dilation[d] + 1,
                        s.in_size[d]);
    while (w.begin[d] < 0) w.begin[d] += s.dilation[d];
  }
  return w;
}

class MaxPoolStep : public Step {
 public:
  explicit MaxPoolStep(const PoolShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    const float* x = frame.at<float>(s_.x);
    float* out = frame.at<float>(s_.out);
    int64_t* indices = s_.has_indices ? frame.at<int64_t>(s_.indices) : nullptr;
    for (int64_t p = 0; p < s_.planes; ++p, x += s_.in_plane()) {
      for (int64_t oh = 0; oh < s_.out_size[0]; ++oh) {
        for (int64_t ow = 0; ow < s_.out_size[1]; ++ow) {
          float best;
          const int64_t at = FindMax(x, WindowAt(s_, oh, ow), &best);
          *out++ = best;
          if (indices != nullptr) *indices++ = at;
        }
      }
    }
    return true;
  }
  std::string_view name() const override { return "max_pool"; }

 private:
  // The first maximum; the last of those that aren't numbers.
  int64_t FindMax(const float* x, const Window& w, float* best) const {
    *best = -std::numeric_limits<float>::infinity();
    int64_t at = w.begin[0] * s_.in_size[1] + w.begin[1];
    for (int64_t ih = w.begin[0]; ih < w.end[0]; ih += s_.dilation[0]) {
      for (int64_t iw = w.begin[1]; iw < w.end[1]; iw += s_.dilation[1]) {
        const float value = x[ih * s_.in_size[1] + iw];
        if (value > *best || value != value) {
          *best = value;
          at = ih * s_.in_size[1] + iw;
        }
      }
    }
    return at;
  }

  const PoolShape s_;
};

class AveragePoolStep : public Step {
 public:
  explicit AveragePoolStep(const PoolShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    const float* x = frame.at<float>(s_.x);
    float* out = frame.at<float>(s_.out);
    for (int64_t p = 0; p < s_.planes; ++p, x += s_.in_plane()) {
      for (int64_t oh = 0; oh < s_.out_size[0]; ++oh) {
        for (int64_t ow = 0; ow < s_.out_size[1]; ++ow) {
          *out++ = Average(x, oh, ow);
        }
      }
    }
    return true;
  }
  std::string_view name() const override { return "avg_pool"; }

 private:
  float Average(const float* x, int64_t oh, int64_t ow) const {
    const Window w = WindowAt(s_, oh, ow);
    float sum = 0;
    for (int64_t ih = w.begin[0]; ih < w.end[0]; ++ih) {
      for (int64_t iw = w.begin[1]; iw < w.end[1]; ++iw) {
        sum += x[ih * s_.in_size[1] + iw];
      }
    }
    return sum / static_cast<float>(Divisor(w, oh, ow));
  }

  int64_t Divisor(const Window& w, int64_t oh, int64_t ow) const {
    if (s_.divisor != 0) return s_.divisor;
    if (!s_.counts_padding) {
      return (w.end[0] - w.begin[0]) * (w.end[1] - w.begin[1]);
    }
    // The window clipped to the padded input.
    int64_t size = 1;
    const int64_t at[2] = {oh, ow};
    for (int d = 0; d < 2; ++d) {
      const int64_t begin = at[d] * s_.stride[d] - s_.padding[d];
      size *=
          std::min(begin + s_.kernel[d], s_.in_size[d] + s_.padding[d]) - begin;
    }
    return size;
  }

  const PoolShape s_;
};

// Windows of equal share; their sizes differ by at most one.
class AdaptivePoolStep : public Step {
 public:
  explicit AdaptivePoolStep(const PoolShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    const float* x = frame.at<float>(s_.x);
    float* out = frame.at<float>(s_.out);
    for (int64_t p = 0; p < s_.planes; ++p, x += s_.in_plane()) {
      for (int64_t oh = 0; oh < s_.out_size[0]; ++oh) {
        for (int64_t ow = 0; ow < s_.out_size[1]; ++ow) {
          *out++ = Average(x, oh, ow);
        }
      }
    }
    return true;
  }
  std::string_view name() const override { return "adaptive_avg_pool"; }

 private:
  float Average(const float* x, int64_t oh, int64_t ow) const {
    const int64_t at[2] = {oh, ow};
    int64_t begin[2], end[2];
    for (int d = 0; d < 2; ++d) {
      begin[d] = at[d] * s_.in_size[d] / s_.out_size[d];
      end[d] =
          ((at[d] + 1) * s_.in_size[d] + s_.out_size[d] - 1) / s_.out_size[d];
    }
    float sum = 0;
    for (int64_t ih = begin[0]; ih < end[0]; ++ih) {
      for (int64_t iw = begin[1]; iw < end[1]; ++iw) {
        sum += x[ih * s_.in_size[1] + iw];
      }
    }
    return sum / static_cast<float>((end[0] - begin[0]) * (end[1] - begin[1]));
  }

  const PoolShape s_;
};

bool Pair(KernelCall& call, const Sizes& given, int64_t least, int64_t* out) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (given.size() != 1 && given.size() != 2) {
    return call.Fail("expected one or two values");
  }
  out[0] = given.front();
  out[1] = given.back();
  for (int d = 0; d < 2; ++d) {
    if (out[d] < least || out[d] > kLimit) {
      return call.Fail("kernel size, stride, padding or dilation out of range");
    }
  }
  return true;
}

bool SetSizes(KernelCall& call, const Tensor& x, bool ceil_mode, PoolShape* s) {
  for (int d = 0; d < 2; ++d) {
    s->in_size[d] = x.size(x.dim() - 2 + d);
    if (s->padding[d] > s->kernel[d] / 2) {
      return call.Fail("padding is more than half of the kernel");
    }
    const int64_t room = s->in_size[d] + 2 * s->padding[d] -
                         s->dilation[d] * (s->kernel[d] - 1) - 1;
    if (room < 0) return call.Fail("the window is larger than the input");
    s->out_size[d] =
        (room + (ceil_mode ? s->stride[d] - 1 : 0)) / s->stride[d] + 1;
    // The last window starts inside the input or its left padding.
    if (ceil_mode &&
        (s->out_size[d] - 1) * s->stride[d] >= s->in_size[d] + s->padding[d]) {
      --s->out_size[d];
    }
  }
  return true;
}

// Leading dimensions are planes.
bool MakePlanes(PlanBuilder& b, KernelCall& call, Tensor* x,
                MemoryFormat* format) {
  if (!NeedFloat32(call, {*x})) return false;
  if (x->dim() != 3 && x->dim() != 4) {
    return call.Fail("expected 3 or 4 dimensions, found " + x->ToString());
  }
  *format = SuggestedFormat(*x);
  *x = b.Contiguous(*x);
  return x->defined() || call.Fail("cannot copy the input");
}

template <typename PoolStep>
bool EmitPool(PlanBuilder& b, KernelCall& call, const Tensor& x,
              MemoryFormat format, PoolShape s) {
  Sizes sizes = x.sizes();
  sizes[sizes.size() - 2] = s.out_size[0];
  sizes[sizes.size() - 1] = s.out_size[1];
  s.planes = NumElements(Sizes(x.sizes().begin(), x.sizes().end() - 2));
  if (!CheckSizes(call, sizes)) return false;
  Tensor out = b.NewTensor(DType::kFloat32, sizes);
  Tensor indices;
  if (s.has_indices) indices = b.NewTensor(DType::kInt64, sizes);
  if (!out.defined() || (s.has_indices && !indices.defined())) {
    return call.Fail("the result is too large");
  }
  if (out.numel() > 0) {
    if (x.numel() == 0) return call.Fail("an average or maximum of nothing");
    s.x = b.RefOf(x);
    s.out = b.RefOf(out);
    if (s.has_indices) s.indices = b.RefOf(indices);
    const Tensor reads[] = {x};
    const Tensor writes[] = {out, indices};
    b.Emit(std::make_unique<PoolStep>(s), reads, writes);
  }
  out = InFormat(b, out, format);
  if (!out.defined()) return call.Fail("cannot copy the result");
  call.Return(out);
  if (s.has_indices) {
    indices = InFormat(b, indices, format);
    if (!indices.defined()) return call.Fail("cannot copy the indices");
    call.Return(indices);
  }
  return true;
}

template <bool kWithIndices>
bool MaxPool(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor x = call.tensor(0);
  MemoryFormat format;
  PoolShape s;
  s.has_indices = kWithIndices;
  const Sizes stride = call.Ints(2);
  if (!MakePlanes(b, call, &x, &format) ||
      !Pair(call, call.Ints(1), 1, s.kernel) ||
      !Pair(call, stride.empty() ? call.Ints(1) : stride, 1, s.stride) ||
      !Pair(call, call.Ints(3), 0, s.padding) ||
      !Pair(call, call.Ints(4), 1, s.dilation) ||
      !SetSizes(call, x, call.Bool(5), &s)) {
    return false;
  }
  return EmitPool<MaxPoolStep>(b, call, x, format, s);
}

bool AveragePool(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor x = call.tensor(0);
  MemoryFormat format;
  PoolShape s;
  const Sizes stride = call.Ints(2);
  s.counts_padding = call.Bool(5);
  if (!call.is_none(6)) {
    s.divisor = call.Int(6);
    if (s.divisor == 0) return call.Fail("divisor_override is 0");
  }
  if (!MakePlanes(b, call, &x, &format) ||
      !Pair(call, call.Ints(1), 1, s.kernel) ||
      !Pair(call, stride.empty() ? call.Ints(1) : stride, 1, s.stride) ||
      !Pair(call, call.Ints(3), 0, s.padding) ||
      !SetSizes(call, x, call.Bool(4), &s)) {
    return false;
  }
  return EmitPool<AveragePoolStep>(b, call, x, format, s);
}

bool AdaptiveAveragePool(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor x = call.tensor(0);
  MemoryFormat format;
  PoolShape s;
  if (!MakePlanes(b, call, &x, &format) ||
      !Pair(call, call.Ints(1), 0, s.out_size)) {
    return false;
  }
  for (int d = 0; d < 2; ++d) s.in_size[d] = x.size(x.dim() - 2 + d);
  return EmitPool<AdaptivePoolStep>(b, call, x, format, s);
}

constexpr LoweringKind kPure = LoweringKind::kPure;
constexpr DTypeRule kFloat32 = DTypeRule::kOnlyFloat32;

constexpr Lowering kLowerings[] = {
    {"aten.max_pool2d.default", kPure, MaxPool<false>, kFloat32},
    {"aten.max_pool2d_with_indices.default", kPure, MaxPool<true>, kFloat32},
    {"aten.avg_pool2d.default", kPure, AveragePool, kFloat32},
    {"aten.adaptive_avg_pool2d.default", kPure, AdaptiveAveragePool, kFloat32},
    {"aten._adaptive_avg_pool2d.default", kPure, AdaptiveAveragePool, kFloat32},
};

}  // namespace

std::span<const Lowering> PoolLowerings() { return kLowerings; }

}  // namespace tenon::cpu
