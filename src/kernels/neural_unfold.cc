// im2col and col2im: the windows of an image as columns, and their sum.
#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/gemm.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

struct Grid {
  int64_t image[2], kernel[2], dilation[2], padding[2], stride[2], count[2];

  int64_t windows() const { return count[0] * count[1]; }
  int64_t taps() const { return kernel[0] * kernel[1]; }
};

// Arguments from `first` on: kernel_size, dilation, padding, stride.
bool ReadGrid(KernelCall& call, const Sizes& image, size_t first, Grid* g) {
  int64_t* const lists[] = {g->kernel, g->dilation, g->padding, g->stride};
  for (size_t i = 0; i < 4; ++i) {
    const Sizes given = call.Ints(first + i);
    if (given.empty() || given.size() > 2) {
      return call.Fail("im2col: expected one or two entries per argument");
    }
    for (size_t d = 0; d < 2; ++d) {
      const int64_t value = given.size() == 1 ? given[0] : given[d];
      if (value < (i == 2 ? 0 : 1) || value > (int64_t{1} << 31)) {
        return call.Fail("im2col: bad window argument " +
                         std::to_string(value));
      }
      lists[i][d] = value;
    }
  }
  for (size_t d = 0; d < 2; ++d) {
    g->image[d] = image[d];
    const int64_t room =
        image[d] + 2 * g->padding[d] - g->dilation[d] * (g->kernel[d] - 1) - 1;
    if (room < 0) return call.Fail("im2col: the windows don't fit the image");
    g->count[d] = room / g->stride[d] + 1;
  }
  return true;
}

// Calls f(row of the columns, window, offset in the plane) for each tap that
// lies inside the image.
template <typename F>
void ForEachTap(const Grid& g, F f) {
  for (int64_t tap = 0; tap < g.taps(); ++tap) {
    const int64_t ky = tap / g.kernel[1], kx = tap % g.kernel[1];
    for (int64_t window = 0; window < g.windows(); ++window) {
      const int64_t y =
          window / g.count[1] * g.stride[0] - g.padding[0] + ky * g.dilation[0];
      const int64_t x =
          window % g.count[1] * g.stride[1] - g.padding[1] + kx * g.dilation[1];
      if (y >= 0 && y < g.image[0] && x >= 0 && x < g.image[1]) {
        f(tap, window, y * g.image[1] + x);
      }
    }
  }
}

// [N, C, H, W] -> [N, C * taps, windows]; without N likewise.
bool Im2Col(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  if ((self.dim() != 3 && self.dim() != 4) || self.size(self.dim() - 3) == 0 ||
      self.size(self.dim() - 2) == 0 || self.size(self.dim() - 1) == 0) {
    return call.Fail("im2col: expected an image, found " + self.ToString());
  }
  Grid g;
  if (!ReadGrid(call, {self.size(self.dim() - 2), self.size(self.dim() - 1)}, 1,
                &g) ||
      !CheckSizes(call, {self.size(self.dim() - 3), g.kernel[0], g.kernel[1],
                         g.count[0], g.count[1]})) {
    return false;
  }
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 2);
  sizes.back() *= g.taps();
  sizes.push_back(g.windows());
  Tensor out;
  if (!CheckSizes(call, sizes) || !Allocate(call, self.dtype(), sizes, &out)) {
    return false;
  }
  const int64_t plane = g.image[0] * g.image[1];
  DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const std::vector<C> in = ReadAll<C>(self);
    std::vector<C> columns(static_cast<size_t>(out.numel()), C(0));
    for (int64_t c = 0; c < self.numel() / plane; ++c) {
      ForEachTap(g, [&](int64_t tap, int64_t window, int64_t offset) {
        columns[static_cast<size_t>((c * g.taps() + tap) * g.windows() +
                                    window)] =
            in[static_cast<size_t>(c * plane + offset)];
      });
    }
    WriteAll(&out, columns);
  });
  call.Return(out);
  return true;
}

// The way back: windows that overlap add up.
bool Col2Im(KernelCall& call) {
  const Tensor& self = call.tensor(0);
  const Sizes image = call.Ints(1);
  if (image.size() != 2 || image[0] <= 0 || image[1] <= 0 ||
      !CheckSizes(call, image)) {
    return call.Fail("col2im: bad output_size");
  }
  Grid g;
  if (!ReadGrid(call, image, 2, &g)) return false;
  if ((self.dim() != 2 && self.dim() != 3) ||
      self.size(self.dim() - 2) % g.taps() != 0 ||
      self.size(self.dim() - 2) == 0 || self.sizes().back() != g.windows()) {
    return call.Fail("col2im: columns " + self.ToString() +
                     " don't fit the windows");
  }
  Sizes sizes(self.sizes().begin(), self.sizes().end() - 1);
  sizes.back() /= g.taps();
  sizes.insert(sizes.end(), image.begin(), image.end());
  Tensor out;
  if (!CheckSizes(call, sizes) || !Allocate(call, self.dtype(), sizes, &out)) {
    return false;
  }
  const int64_t plane = image[0] * image[1];
  DispatchCompute(self.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    const std::vector<C> columns = ReadAll<C>(self);
    std::vector<C> sums(static_cast<size_t>(out.numel()), C(0));
    for (int64_t c = 0; c < out.numel() / plane; ++c) {
      ForEachTap(g, [&](int64_t tap, int64_t window, int64_t offset) {
        C& sum = sums[static_cast<size_t>(c * plane + offset)];
        sum = WrapAdd(sum, columns[static_cast<size_t>(
                               (c * g.taps() + tap) * g.windows() + window)]);
      });
    }
    WriteAll(&out, sums);
  });
  call.Return(out);
  return true;
}

constexpr KernelEntry kEntries[] = {
    {"aten.im2col.default", Im2Col},
    {"aten.col2im.default", Col2Im},
};

}  // namespace

std::span<const KernelEntry> UnfoldKernels() { return kEntries; }

}  // namespace tenon
