// Pooling to a given output size: window i covers floor(i * in / out) to
// ceil((i + 1) * in / out).
#include <algorithm>
#include <limits>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/pooling.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

bool MakeGeometry(KernelCall& call, const Tensor& input, int64_t spatial,
                  const Sizes& output_size, PoolGeometry* g) {
  if (static_cast<int64_t>(output_size.size()) != spatial) {
    return call.Fail("adaptive pooling: expected " + std::to_string(spatial) +
                     " output sizes, found " +
                     std::to_string(output_size.size()));
  }
  if (!CheckPoolInput(call, input, spatial)) return false;
  if (IsComplex(input.dtype()) || input.dtype() == DType::kBool) {
    return call.Fail("adaptive pooling of " + input.ToString());
  }
  g->out_sizes.assign(input.sizes().begin(), input.sizes().end() - spatial);
  g->planes = NumElements(g->out_sizes);
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t out = output_size[static_cast<size_t>(i)];
    if (out < 0 || out > (int64_t{1} << 31)) {
      return call.Fail("adaptive pooling: bad output size " +
                       std::to_string(out));
    }
    PoolAxis& axis = g->axes[3 - spatial + i];
    axis.size = input.size(input.dim() - spatial + i);
    axis.out = out;
    g->out_sizes.push_back(out);
  }
  return CheckSizes(call, g->out_sizes);
}

int64_t Start(const PoolAxis& a, int64_t i) { return i * a.size / a.out; }
int64_t End(const PoolAxis& a, int64_t i) {
  return ((i + 1) * a.size + a.out - 1) / a.out;
}

// Calls f(offset in the input plane) for a window; the number of elements.
template <typename F>
int64_t ForEachInWindow(const PoolGeometry& g, int64_t oz, int64_t oy,
                        int64_t ox, F f) {
  int64_t count = 0;
  for (int64_t z = Start(g.axes[0], oz); z < End(g.axes[0], oz); ++z) {
    for (int64_t y = Start(g.axes[1], oy); y < End(g.axes[1], oy); ++y) {
      for (int64_t x = Start(g.axes[2], ox); x < End(g.axes[2], ox); ++x) {
        f((z * g.axes[1].size + y) * g.axes[2].size + x);
        ++count;
      }
    }
  }
  return count;
}

template <int kSpatial>
bool AvgInner(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  PoolGeometry g;
  Tensor out;
  if (!MakeGeometry(call, input, kSpatial, call.Ints(1), &g) ||
      !Allocate(call, input.dtype(), g.out_sizes,
                StridesFor(g.out_sizes, SuggestedFormat(input)), &out)) {
    return false;
  }
  if (!IsFloating(input.dtype())) {
    return call.Fail("adaptive_avg_pool: expected a floating tensor");
  }
  const std::vector<double> in = ReadAll<double>(input);
  std::vector<double> values;
  for (int64_t plane = 0; plane < g.planes; ++plane) {
    const double* from = in.data() + plane * g.in_plane();
    ForEachOutput(g, [&](int64_t, int64_t z, int64_t y, int64_t x) {
      double sum = 0;
      const int64_t count =
          ForEachInWindow(g, z, y, x, [&](int64_t at) { sum += from[at]; });
      values.push_back(sum / static_cast<double>(count));
    });
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

// An output of one element per plane is a mean, with a mean's strides.
template <int kSpatial>
bool AvgOuter(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  const Sizes size = call.Ints(1);
  const bool to_one =
      static_cast<int64_t>(size.size()) == kSpatial && NumElements(size) == 1 &&
      std::all_of(size.begin(), size.end(), [](int64_t s) { return s == 1; });
  if (!to_one || !IsFloating(input.dtype())) return AvgInner<kSpatial>(call);
  if (!CheckPoolInput(call, input, kSpatial)) return false;
  Sizes dims;
  for (int64_t i = 1; i <= kSpatial; ++i) dims.push_back(input.dim() - i);
  Tensor out;
  if (!CallKernel(call, "aten.mean.dim", {input, IntList(dims), true}, &out)) {
    return false;
  }
  const MemoryFormat format = SuggestedFormat(input);
  if (format != MemoryFormat::kContiguous) {
    out = out.View(out.sizes(), StridesFor(out.sizes(), format), 0);
  }
  call.Return(out);
  return true;
}

template <int kSpatial>
bool Max(KernelCall& call) {
  const Tensor& input = call.tensor(0);
  PoolGeometry g;
  Tensor out, indices;
  if (!MakeGeometry(call, input, kSpatial, call.Ints(1), &g)) return false;
  const Sizes strides = StridesFor(g.out_sizes, SuggestedFormat(input));
  if (!Allocate(call, input.dtype(), g.out_sizes, strides, &out) ||
      !Allocate(call, DType::kInt64, g.out_sizes, strides, &indices)) {
    return false;
  }
  if (!IsFloating(input.dtype())) {
    return call.Fail("adaptive_max_pool: expected a floating tensor");
  }
  const std::vector<double> in = ReadAll<double>(input);
  std::vector<double> values;
  std::vector<int64_t> found;
  for (int64_t plane = 0; plane < g.planes; ++plane) {
    const double* from = in.data() + plane * g.in_plane();
    ForEachOutput(g, [&](int64_t, int64_t z, int64_t y, int64_t x) {
      double best = -std::numeric_limits<double>::infinity();
      int64_t index =
          (Start(g.axes[0], z) * g.axes[1].size + Start(g.axes[1], y)) *
              g.axes[2].size +
          Start(g.axes[2], x);
      ForEachInWindow(g, z, y, x, [&](int64_t at) {
        if (from[at] > best || from[at] != from[at]) {
          best = from[at];
          index = at;
        }
      });
      values.push_back(best);
      found.push_back(index);
    });
  }
  WriteAll(&out, values);
  WriteAll(&indices, found);
  call.Return(out);
  call.Return(indices);
  return true;
}

// One dimension as two of which the first has size 1.
template <Kernel kTwoDimensional>
bool OneDimensional(KernelCall& call) {
  const Tensor self = call.tensor(0);
  const Sizes size = call.Ints(1);
  if (size.size() != 1) {
    return call.Fail("adaptive pooling: expected one output size");
  }
  if (!CheckPoolInput(call, self, 1)) return false;
  call.arg(0) = Unsqueezed(self, self.dim() - 1);
  call.arg(1) = IntList({1, size[0]});
  const bool good = kTwoDimensional(call);
  call.arg(0) = self;
  for (RuntimeValue& value : call.results()) {
    value = Squeezed(value.tensor(), value.tensor().dim() - 2);
  }
  return good;
}

template <int kSpatial>
bool AvgBackward(KernelCall& call) {
  const Tensor &grad = call.tensor(0), &input = call.tensor(1);
  if (grad.dim() < kSpatial) {
    return call.Fail("adaptive_avg_pool backward: bad gradient");
  }
  PoolGeometry g;
  Tensor out;
  if (!MakeGeometry(call, input, kSpatial,
                    {grad.sizes().end() - kSpatial, grad.sizes().end()}, &g)) {
    return false;
  }
  if (grad.sizes() != g.out_sizes) {
    return call.Fail(
        "adaptive_avg_pool backward: expected a gradient of sizes " +
        ToText(g.out_sizes));
  }
  if (!Allocate(call, input.dtype(), input.sizes(),
                StridesFor(input.sizes(), SuggestedFormat(input)), &out)) {
    return false;
  }
  const std::vector<double> values = ReadAll<double>(grad);
  std::vector<double> sums(static_cast<size_t>(input.numel()));
  for (int64_t plane = 0; plane < g.planes; ++plane) {
    double* to = sums.data() + plane * g.in_plane();
    const double* from = values.data() + plane * g.out_plane();
    ForEachOutput(g, [&](int64_t at, int64_t z, int64_t y, int64_t x) {
      const int64_t count = ForEachInWindow(g, z, y, x, [](int64_t) {});
      ForEachInWindow(g, z, y, x, [&](int64_t i) {
        to[i] += from[at] / static_cast<double>(count);
      });
    });
  }
  WriteAll(&out, sums);
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.adaptive_avg_pool1d.default", OneDimensional<AvgOuter<2>>},
    {"aten.adaptive_avg_pool2d.default", AvgOuter<2>},
    {"aten.adaptive_avg_pool3d.default", AvgOuter<3>},
    {"aten._adaptive_avg_pool2d.default", AvgInner<2>},
    {"aten._adaptive_avg_pool3d.default", AvgInner<3>},
    {"aten.adaptive_max_pool1d.default", OneDimensional<Max<2>>},
    {"aten.adaptive_max_pool2d.default", Max<2>},
    {"aten.adaptive_max_pool3d.default", Max<3>},
    {"aten._adaptive_avg_pool2d_backward.default", AvgBackward<2>},
    {"aten._adaptive_avg_pool3d_backward.default", AvgBackward<3>},
};

}  // namespace

std::span<const KernelEntry> AdaptivePoolingKernels() { return kEntries; }

}  // namespace tenon
