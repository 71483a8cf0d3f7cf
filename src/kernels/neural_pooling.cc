// Max and average pooling with a sliding window, and their gradients.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/pooling.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool CheckPoolDType(KernelCall& call, const Tensor& input) {
  if (!IsComplex(input.dtype()) && input.dtype() != DType::kBool) return true;
  return call.Fail("pooling of " + input.ToString());
}

template <typename C>
C Lowest() {
  if constexpr (kIsInteger<C>) {
    return std::numeric_limits<C>::lowest();
  } else {
    return -std::numeric_limits<C>::infinity();
  }
}

// The largest element of each window and its position in the unpadded plane.
// The first of equal ones wins; nan wins over numbers, the last nan over
// others.
template <typename C>
void MaxWindows(const PoolGeometry& g, const std::vector<C>& in,
                std::vector<C>* values, std::vector<int64_t>* indices) {
  const auto start = [](const PoolAxis& a, int64_t i) {
    const int64_t at = i * a.stride - a.padding;
    if (at >= 0) return at;
    return at + (-at + a.dilation - 1) / a.dilation * a.dilation;
  };
  const auto end = [](const PoolAxis& a, int64_t i) {
    return std::min(i * a.stride - a.padding + (a.kernel - 1) * a.dilation + 1,
                    a.size);
  };
  for (int64_t plane = 0; plane < g.planes; ++plane) {
    const C* from = in.data() + plane * g.in_plane();
    ForEachOutput(g, [&](int64_t, int64_t oz, int64_t oy, int64_t ox) {
      const auto& [az, ay, ax] = g.axes;
      const int64_t z0 = start(az, oz), y0 = start(ay, oy), x0 = start(ax, ox);
      C best = Lowest<C>();
      int64_t index = (z0 * ay.size + y0) * ax.size + x0;
      for (int64_t z = z0; z < end(az, oz); z += az.dilation) {
        for (int64_t y = y0; y < end(ay, oy); y += ay.dilation) {
          for (int64_t x = x0; x < end(ax, ox); x += ax.dilation) {
            const int64_t at = (z * ay.size + y) * ax.size + x;
            const C value = from[at];
            if (value > best || value != value) {
              best = value;
              index = at;
            }
          }
        }
      }
      values->push_back(best);
      indices->push_back(index);
    });
  }
}

bool MaxPool(KernelCall& call, const Tensor& input, int64_t spatial,
             bool with_indices) {
  PoolGeometry g;
  if (!CheckPoolDType(call, input) ||
      !MakePoolGeometry(call, input, spatial, call.Ints(1), call.Ints(2),
                        call.Ints(3), call.Ints(4), call.Bool(5), &g)) {
    return false;
  }
  const Sizes strides = StridesFor(g.out_sizes, SuggestedFormat(input));
  Tensor out, indices;
  if (!Allocate(call, input.dtype(), g.out_sizes, strides, &out) ||
      !Allocate(call, DType::kInt64, g.out_sizes, strides, &indices)) {
    return false;
  }
  DispatchCompute(input.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    if constexpr (!kIsComplex<C>) {
      std::vector<C> values;
      std::vector<int64_t> found;
      MaxWindows(g, ReadAll<C>(input), &values, &found);
      WriteAll(&out, values);
      WriteAll(&indices, found);
    }
  });
  call.Return(out);
  if (with_indices) call.Return(indices);
  return true;
}

template <int kSpatial, bool kWithIndices>
bool MaxPoolNd(KernelCall& call) {
  return MaxPool(call, call.tensor(0), kSpatial, kWithIndices);
}

// One dimension is two of which the first has size 1.
bool FromTwoDimensions(KernelCall& call) {
  for (RuntimeValue& value : call.results()) {
    value = Squeezed(value.tensor(), value.tensor().dim() - 2);
  }
  return true;
}

Sizes Pair(const Sizes& list, int64_t first) {
  return list.empty() ? list : Sizes{first, list[0]};
}

bool CheckPoolInput1d(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  for (size_t i = 1; i <= 3; ++i) {
    if (call.Ints(i).size() > 1) {
      return call.Fail("pooling: expected one entry per argument");
    }
  }
  return CheckPoolInput(call, input, 1);
}

bool MaxPool1dWithIndices(KernelCall& call) {
  if (!CheckPoolInput1d(call)) return false;
  if (call.Ints(4).size() != 1) {
    return call.Fail("pooling: expected one entry in dilation");
  }
  const Tensor& self = call.tensor(0);
  return ForwardTo(
             call, "aten.max_pool2d_with_indices.default",
             {Unsqueezed(self, self.dim() - 1), IntList(Pair(call.Ints(1), 1)),
              IntList(Pair(call.Ints(2), 1)), IntList(Pair(call.Ints(3), 0)),
              IntList(Pair(call.Ints(4), 1)), call.Bool(5)}) &&
         FromTwoDimensions(call);
}

bool AvgPool(KernelCall& call, const Tensor& input, int64_t spatial,
             PoolGeometry* g, RuntimeValue* divisor) {
  const bool has_divisor = call.num_args() > 6 && !call.is_none(6);
  *divisor = has_divisor ? call.Scalar(6) : RuntimeValue();
  if (has_divisor && call.Int(6) == 0) {
    return call.Fail("avg_pool: divisor must be not zero");
  }
  return CheckPoolDType(call, input) &&
         MakePoolGeometry(call, input, spatial, call.Ints(1), call.Ints(2),
                          call.Ints(3), {1}, call.Bool(4), g);
}

// A window clipped to the input, and the number to divide its sum by.
struct AvgWindow {
  int64_t start[3], end[3];
  int64_t divisor = 1;
  bool empty = false;
};

AvgWindow AvgWindowAt(const PoolGeometry& g, const int64_t (&at)[3],
                      bool count_include_pad, const RuntimeValue& divisor) {
  AvgWindow w;
  int64_t padded = 1, real = 1;
  for (int i = 0; i < 3; ++i) {
    const PoolAxis& a = g.axes[i];
    const int64_t start = at[i] * a.stride - a.padding;
    const int64_t end = std::min(start + a.kernel, a.size + a.padding);
    padded *= end - start;
    w.start[i] = std::max<int64_t>(start, 0);
    w.end[i] = std::min(end, a.size);
    w.empty = w.empty || w.start[i] >= w.end[i];
    real *= w.end[i] - w.start[i];
  }
  w.divisor = !divisor.is_none()  ? divisor.int_value()
              : count_include_pad ? padded
                                  : real;
  return w;
}

// Calls f(offset in the plane) for the elements of a window.
template <typename F>
void ForEachInWindow(const PoolGeometry& g, const AvgWindow& w, F f) {
  for (int64_t z = w.start[0]; z < w.end[0]; ++z) {
    for (int64_t y = w.start[1]; y < w.end[1]; ++y) {
      for (int64_t x = w.start[2]; x < w.end[2]; ++x) {
        f((z * g.axes[1].size + y) * g.axes[2].size + x);
      }
    }
  }
}

template <int kSpatial>
bool AvgPoolNd(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  PoolGeometry g;
  RuntimeValue divisor;
  Tensor out;
  if (!AvgPool(call, input, kSpatial, &g, &divisor) ||
      !Allocate(call, input.dtype(), g.out_sizes,
                StridesFor(g.out_sizes, SuggestedFormat(input)), &out)) {
    return false;
  }
  const bool count_include_pad = call.Bool(5);
  DispatchCompute(input.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const std::vector<C> in = ReadAll<C>(input);
    std::vector<C> values;
    for (int64_t plane = 0; plane < g.planes; ++plane) {
      const C* from = in.data() + plane * g.in_plane();
      ForEachOutput(g, [&](int64_t, int64_t z, int64_t y, int64_t x) {
        const AvgWindow w =
            AvgWindowAt(g, {z, y, x}, count_include_pad, divisor);
        C sum = C(0);
        if (!w.empty) {
          ForEachInWindow(g, w, [&](int64_t at) { sum += from[at]; });
          sum /= static_cast<C>(w.divisor);
        }
        values.push_back(sum);
      });
    }
    WriteAll(&out, values);
  });
  call.Return(out);
  return true;
}

bool AvgPool1d(KernelCall& call) {
  if (!CheckPoolInput1d(call)) return false;
  const Tensor& self = call.tensor(0);
  return ForwardTo(
             call, "aten.avg_pool2d.default",
             {Unsqueezed(self, self.dim() - 1), IntList(Pair(call.Ints(1), 1)),
              IntList(Pair(call.Ints(2), 1)), IntList(Pair(call.Ints(3), 0)),
              call.Bool(4), call.Bool(5)}) &&
         FromTwoDimensions(call);
}

// --- gradients ---

// Adds each gradient to the element that its index names.
bool ScatterGradients(KernelCall& call, const Tensor& grad, const Tensor& input,
                      const Tensor& indices, int64_t spatial) {
  if (!CheckPoolInput(call, input, spatial)) return false;
  if (grad.sizes() != indices.sizes() || grad.dim() != input.dim() ||
      indices.dtype() != DType::kInt64) {
    return call.Fail("max_pool backward: gradient and indices don't fit");
  }
  const int64_t in_plane =
      NumElements({input.sizes().end() - spatial, input.sizes().end()});
  const int64_t out_plane =
      NumElements({grad.sizes().end() - spatial, grad.sizes().end()});
  if (in_plane == 0 || grad.numel() / std::max<int64_t>(out_plane, 1) !=
                           input.numel() / in_plane) {
    return call.Fail("max_pool backward: gradient and input don't fit");
  }
  Tensor out;
  if (!Allocate(call, grad.dtype(), input.sizes(),
                StridesFor(input.sizes(), SuggestedFormat(input)), &out)) {
    return false;
  }
  std::vector<double> sums(static_cast<size_t>(input.numel()));
  const std::vector<double> values = ReadAll<double>(grad);
  const std::vector<int64_t> at = ReadAll<int64_t>(indices);
  for (size_t i = 0; i < values.size(); ++i) {
    if (at[i] < 0 || at[i] >= in_plane) {
      return call.Fail("max_pool backward: index out of range");
    }
    const int64_t plane = static_cast<int64_t>(i) / out_plane;
    sums[static_cast<size_t>(plane * in_plane + at[i])] += values[i];
  }
  WriteAll(&out, sums);
  call.Return(out);
  return true;
}

template <int kSpatial>
bool MaxPoolBackward(KernelCall& call) {
  return ScatterGradients(call, call.tensor(0), call.tensor(1), call.tensor(7),
                          kSpatial);
}

template <int kSpatial>
bool AdaptiveMaxPoolBackward(KernelCall& call) {
  return ScatterGradients(call, call.tensor(0), call.tensor(1), call.tensor(2),
                          kSpatial);
}

// Spreads each gradient over its window. Arguments: grad, self, kernel,
// stride, padding, ceil_mode, count_include_pad, divisor_override.
template <int kSpatial>
bool AvgPoolBackward(KernelCall& call) {
  const Tensor &grad = call.tensor(0), &input = call.tensor(1);
  PoolGeometry g;
  if (!CheckPoolDType(call, input) ||
      !MakePoolGeometry(call, input, kSpatial, call.Ints(2), call.Ints(3),
                        call.Ints(4), {1}, call.Bool(5), &g)) {
    return false;
  }
  const RuntimeValue divisor =
      call.is_none(7) ? RuntimeValue() : call.Scalar(7);
  if (!divisor.is_none() && call.Int(7) == 0) {
    return call.Fail("avg_pool: divisor must be not zero");
  }
  if (grad.sizes() != g.out_sizes) {
    return call.Fail("avg_pool backward: expected a gradient of sizes " +
                     ToText(g.out_sizes));
  }
  Tensor out;
  if (!Allocate(call, input.dtype(), input.sizes(),
                StridesFor(input.sizes(), SuggestedFormat(input)), &out)) {
    return false;
  }
  const bool count_include_pad = call.Bool(6);
  const std::vector<double> values = ReadAll<double>(grad);
  std::vector<double> sums(static_cast<size_t>(input.numel()));
  for (int64_t plane = 0; plane < g.planes; ++plane) {
    double* to = sums.data() + plane * g.in_plane();
    const double* from = values.data() + plane * g.out_plane();
    ForEachOutput(g, [&](int64_t at, int64_t z, int64_t y, int64_t x) {
      const AvgWindow w = AvgWindowAt(g, {z, y, x}, count_include_pad, divisor);
      if (w.empty) return;
      const double share = from[at] / static_cast<double>(w.divisor);
      ForEachInWindow(g, w, [&](int64_t i) { to[i] += share; });
    });
  }
  WriteAll(&out, sums);
  call.Return(out);
  return true;
}

// --- unpooling ---

// Puts each element where its index says, in planes of output_size.
template <int kSpatial>
bool MaxUnpool(KernelCall& call) {
  const Tensor &self = call.tensor(0), &indices = call.tensor(1);
  const Sizes output_size = call.Ints(2);
  if (!CheckPoolInput(call, self, kSpatial)) return false;
  if (indices.dtype() != DType::kInt64 || indices.sizes() != self.sizes()) {
    return call.Fail("max_unpool: expected int64 indices of the input's sizes");
  }
  if (output_size.size() != kSpatial) {
    return call.Fail("max_unpool: expected " + std::to_string(kSpatial) +
                     " output sizes");
  }
  Sizes sizes(self.sizes().begin(), self.sizes().end() - kSpatial);
  sizes.insert(sizes.end(), output_size.begin(), output_size.end());
  Tensor out;
  if (!CheckSizes(call, sizes) ||
      !Allocate(call, self.dtype(), sizes,
                StridesFor(sizes, SuggestedFormat(self)), &out)) {
    return false;
  }
  const int64_t out_plane = NumElements(output_size);
  const int64_t in_plane =
      NumElements({self.sizes().end() - kSpatial, self.sizes().end()});
  const std::vector<int64_t> at = ReadAll<int64_t>(indices);
  for (int64_t index : at) {
    if (index < 0 || index >= out_plane) {
      return call.Fail("max_unpool: index " + std::to_string(index) +
                       " is out of range");
    }
  }
  DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const std::vector<C> from = ReadAll<C>(self);
    std::vector<C> to(static_cast<size_t>(out.numel()), C(0));
    for (size_t i = 0; i < from.size(); ++i) {
      const int64_t plane = static_cast<int64_t>(i) / in_plane;
      to[static_cast<size_t>(plane * out_plane + at[i])] = from[i];
    }
    WriteAll(&out, to);
  });
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.max_pool1d.default", MaxPoolNd<1, false>},
    {"aten.max_pool1d_with_indices.default", MaxPool1dWithIndices},
    {"aten.max_pool2d.default", MaxPoolNd<2, false>},
    {"aten.max_pool2d_with_indices.default", MaxPoolNd<2, true>},
    {"aten.max_pool3d.default", MaxPoolNd<3, false>},
    {"aten.max_pool3d_with_indices.default", MaxPoolNd<3, true>},
    {"aten.avg_pool1d.default", AvgPool1d},
    {"aten.avg_pool2d.default", AvgPoolNd<2>},
    {"aten.avg_pool3d.default", AvgPoolNd<3>},
    {"aten.max_pool2d_with_indices_backward.default", MaxPoolBackward<2>},
    {"aten.max_pool3d_with_indices_backward.default", MaxPoolBackward<3>},
    {"aten.adaptive_max_pool2d_backward.default", AdaptiveMaxPoolBackward<2>},
    {"aten.adaptive_max_pool3d_backward.default", AdaptiveMaxPoolBackward<3>},
    {"aten.avg_pool2d_backward.default", AvgPoolBackward<2>},
    {"aten.avg_pool3d_backward.default", AvgPoolBackward<3>},
    {"aten.max_unpool2d.default", MaxUnpool<2>},
    {"aten.max_unpool3d.default", MaxUnpool<3>},
};

}  // namespace

std::span<const KernelEntry> PoolingKernels() { return kEntries; }

}  // namespace tenon
