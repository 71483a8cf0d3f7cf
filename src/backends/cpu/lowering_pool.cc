// Pooling over two spatial dimensions.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/lowering.h"
#include "backends/cpu/lowering_operands.h"
#include "kernels/views.h"

namespace tenon::cpu {
namespace {

struct PoolShape : PoolArgs {
  int64_t planes = 0;
  // Above 1 where the elements of a plane are so many channels side by side.
  int64_t channels = 1;
  bool counts_padding = true;
  int64_t divisor = 0;  // 0 = the window's size
  bool has_indices = false;
  Ref x, out, indices;
};

class MaxPoolStep : public Step {
 public:
  explicit MaxPoolStep(const PoolShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    const Loops& loops = BestLoops();
    const float* x = frame.at<float>(s_.x);
    float* out = frame.at<float>(s_.out);
    int64_t* indices = s_.has_indices ? frame.at<int64_t>(s_.indices) : nullptr;
    for (int64_t p = 0; p < s_.planes; ++p) {
      if (s_.channels > 1) {
        loops.max_pool_last(x, out, s_.channels, s_);
        x += s_.in_plane() * s_.channels;
        out += s_.out_plane() * s_.channels;
        continue;
      }
      loops.max_pool(x, out, indices, s_);
      x += s_.in_plane();
      out += s_.out_plane();
      if (indices != nullptr) indices += s_.out_plane();
    }
    return true;
  }
  std::string_view name() const override { return "max_pool"; }

 private:
  const PoolShape s_;
};

class AveragePoolStep : public Step {
 public:
  explicit AveragePoolStep(const PoolShape& shape)
      : s_(shape), rows_(Shares(0)), columns_(Shares(1)) {}

  bool Run(Frame& frame) override {
    const Loops& loops = BestLoops();
    const float* x = frame.at<float>(s_.x);
    float* out = frame.at<float>(s_.out);
    const int64_t channels = s_.channels;
    for (int64_t p = 0; p < s_.planes; ++p, x += s_.in_plane() * channels) {
      if (channels > 1) {
        loops.sum_pool_last(x, out, channels, s_);
      } else {
        loops.sum_pool(x, out, s_);
      }
      for (const float rows : rows_) {
        for (const float columns : columns_) {
          const float share = rows * columns;
          for (int64_t c = 0; c < channels; ++c) *out++ /= share;
        }
      }
    }
    return true;
  }
  std::string_view name() const override { return "avg_pool"; }

 private:
  // What each window along a dimension contributes to its divisor.
  std::vector<float> Shares(int d) const {
    std::vector<float> shares;
    for (int64_t at = 0; at < s_.out_size[d]; ++at) {
      const int64_t begin = at * s_.stride[d] - s_.padding[d];
      const int64_t end = begin + s_.kernel[d];
      // The window clipped to the input, which may be padded.
      const int64_t size =
          s_.counts_padding
              ? std::min(end, s_.in_size[d] + s_.padding[d]) - begin
              : std::min(end, s_.in_size[d]) - std::max(begin, int64_t{0});
      const int64_t share = s_.divisor == 0 ? size : d == 0 ? s_.divisor : 1;
      shares.push_back(static_cast<float>(share));
    }
    return shares;
  }

  const PoolShape s_;
  const std::vector<float> rows_, columns_;
};

// Windows of equal share; their sizes differ by at most one.
class AdaptivePoolStep : public Step {
 public:
  explicit AdaptivePoolStep(const PoolShape& shape) : s_(shape) {}

  bool Run(Frame& frame) override {
    const float* x = frame.at<float>(s_.x);
    float* out = frame.at<float>(s_.out);
    const int64_t channels = s_.channels;
    if (std::equal(s_.in_size, s_.in_size + 2, s_.out_size)) {
      // Averages of one element, as where a network has got down to 1 x 1.
      std::copy_n(x, s_.planes * s_.in_plane() * channels, out);
      return true;
    }
    for (int64_t p = 0; p < s_.planes; ++p, x += s_.in_plane() * channels) {
      for (int64_t oh = 0; oh < s_.out_size[0]; ++oh) {
        for (int64_t ow = 0; ow < s_.out_size[1]; ++ow, out += channels) {
          Average(x, oh, ow, out);
        }
      }
    }
    return true;
  }
  std::string_view name() const override { return "adaptive_avg_pool"; }

 private:
  void Average(const float* x, int64_t oh, int64_t ow, float* out) const {
    const int64_t at[2] = {oh, ow};
    int64_t begin[2];
    PoolArgs window = s_;
    for (int d = 0; d < 2; ++d) {
      begin[d] = at[d] * s_.in_size[d] / s_.out_size[d];
      const int64_t end =
          ((at[d] + 1) * s_.in_size[d] + s_.out_size[d] - 1) / s_.out_size[d];
      window.kernel[d] = end - begin[d];
      window.out_size[d] = window.stride[d] = 1;
      window.padding[d] = 0;
    }
    const auto count = static_cast<float>(window.kernel[0] * window.kernel[1]);
    const float* start =
        x + (begin[0] * s_.in_size[1] + begin[1]) * s_.channels;
    if (s_.channels > 1) {
      BestLoops().sum_pool_last(start, out, s_.channels, window);
      for (int64_t c = 0; c < s_.channels; ++c) out[c] /= count;
      return;
    }
    float sum = 0;
    for (int64_t ih = 0; ih < window.kernel[0]; ++ih) {
      for (int64_t iw = 0; iw < window.kernel[1]; ++iw) {
        sum += start[ih * s_.in_size[1] + iw];
      }
    }
    *out = sum / count;
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

// Leading dimensions are planes, unless the channels are last.
bool MakePlanes(PlanBuilder& b, KernelCall& call, Tensor* x,
                MemoryFormat* format) {
  if (!NeedFloat32(call, {*x})) return false;
  if (x->dim() != 3 && x->dim() != 4) {
    return call.Fail("expected 3 or 4 dimensions, found " + x->ToString());
  }
  *format = SuggestedFormat(*x);
  const Tensor last =
      x->dim() == 4 && x->size(1) > 1 ? b.FindChannelsLast(*x) : Tensor();
  *x = last.defined() ? last : b.Contiguous(*x);
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
  const bool is_last = !x.is_contiguous();
  const Tensor out =
      b.NewTensor(DType::kFloat32, sizes, StridesFor(sizes, format));
  if (!out.defined()) return call.Fail("the result is too large");
  if (s.in_plane() > std::numeric_limits<int32_t>::max()) {
    return call.Fail("planes of 2^31 elements or more");
  }
  if (out.numel() > 0) {
    if (x.numel() == 0) return call.Fail("an average or maximum of nothing");
    // Computed with the channels last or first, whatever the result is like.
    const Tensor computed = is_last ? b.NewChannelsLast(out)
                            : out.is_contiguous()
                                ? out
                                : b.NewTensor(DType::kFloat32, sizes);
    if (!computed.defined()) return call.Fail("the result is too large");
    if (is_last) {
      s.channels = x.size(1);
      s.planes = x.size(0);
    }
    s.x = b.RefOf(x);
    s.out = b.RefOf(computed);
    const Tensor reads[] = {x};
    const Tensor writes[] = {computed};
    b.Emit(std::make_unique<PoolStep>(s), reads, writes);
    if (is_last) {
      b.SetChannelsLast(out, computed);
    } else if (!computed.SharesStorage(out) && !b.EmitCopy(computed, out)) {
      return call.Fail("cannot copy the result");
    }
  }
  call.Return(out);
  return true;
}

// The indices come from a step of their own, that finds the maxima once more:
// mostly nobody wants them, and the step is dropped.
bool EmitIndices(PlanBuilder& b, KernelCall& call, MemoryFormat format,
                 PoolShape s) {
  const Sizes sizes = call.results()[0].tensor().sizes();
  const Tensor x = b.Contiguous(call.tensor(0));
  const Tensor maxima = b.NewTensor(DType::kFloat32, sizes);
  Tensor indices = b.NewTensor(DType::kInt64, sizes);
  if (!x.defined() || !maxima.defined() || !indices.defined()) {
    return call.Fail("the result is too large");
  }
  if (indices.numel() > 0) {
    s.has_indices = true;
    s.planes = indices.numel() / s.out_plane();
    s.x = b.RefOf(x);
    s.out = b.RefOf(maxima);
    s.indices = b.RefOf(indices);
    const Tensor reads[] = {x};
    const Tensor writes[] = {maxima, indices};
    b.Emit(std::make_unique<MaxPoolStep>(s), reads, writes);
  }
  indices = InFormat(b, indices, format);
  if (!indices.defined()) return call.Fail("cannot copy the indices");
  call.Return(indices);
  return true;
}

template <bool kWithIndices>
bool MaxPool(PlanBuilder& b, KernelCall& call, const Lowering&) {
  Tensor x = call.tensor(0);
  MemoryFormat format;
  PoolShape s;
  const Sizes stride = call.Ints(2);
  if (!MakePlanes(b, call, &x, &format) ||
      !Pair(call, call.Ints(1), 1, s.kernel) ||
      !Pair(call, stride.empty() ? call.Ints(1) : stride, 1, s.stride) ||
      !Pair(call, call.Ints(3), 0, s.padding) ||
      !Pair(call, call.Ints(4), 1, s.dilation) ||
      !SetSizes(call, x, call.Bool(5), &s)) {
    return false;
  }
  return EmitPool<MaxPoolStep>(b, call, x, format, s) &&
         (!kWithIndices || EmitIndices(b, call, format, s));
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
