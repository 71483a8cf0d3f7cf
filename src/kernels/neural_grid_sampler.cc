// grid_sampler: reads an image at the coordinates that a grid gives, in
// [-1, 1], with interpolation.
#include <algorithm>
#include <cmath>

#include "kernels/compose.h"
#include "kernels/elements.h"
#include "kernels/registry.h"
#include "kernels/views.h"

namespace tenon {
namespace {

enum Mode : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Options {
  int64_t mode = kBilinear;
  int64_t padding = kZeros;
  bool align_corners = false;
};

// Also turns nan into 0.
double Clip(double x, int64_t size) {
  return std::min(static_cast<double>(size - 1),
                  std::max(x, 0.0) == x ? x : 0.0);
}

// Mirrors at both ends, given doubled to stay integers.
double Reflect(double x, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return 0;
  const double low = static_cast<double>(twice_low) / 2;
  const double span = static_cast<double>(twice_high - twice_low) / 2;
  x = std::abs(x - low);
  const double extra = std::fmod(x, span);
  const double flips = std::floor(x / span);
  return std::fmod(flips, 2.0) == 0 ? extra + low : span - extra + low;
}

double Pad(double x, int64_t size, const Options& o) {
  if (o.padding == kBorder) return Clip(x, size);
  if (o.padding == kReflection) {
    return Clip(o.align_corners ? Reflect(x, 0, 2 * (size - 1))
                                : Reflect(x, -1, 2 * size - 1),
                size);
  }
  return x;
}

// From [-1, 1] to pixels.
double Unnormalize(double x, int64_t size, const Options& o) {
  const double s = static_cast<double>(size);
  return o.align_corners ? (x + 1) / 2 * (s - 1) : ((x + 1) * s - 1) / 2;
}

struct Tap {
  double at;  // a whole number, perhaps outside
  double weight;
};

double Cubic(double x) {
  constexpr double kA = -0.75;
  x = std::abs(x);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

// The elements along one dimension that a coordinate reads. Bicubic applies
// the padding to each of them, the others to the coordinate.
std::vector<Tap> TapsOf(double grid, int64_t size, const Options& o) {
  double x = Unnormalize(grid, size, o);
  if (o.mode == kBicubic) {
    const double low = std::floor(x), t = x - low;
    std::vector<Tap> taps;
    for (int k = -1; k <= 2; ++k) {
      taps.push_back({std::trunc(Pad(low + k, size, o)), Cubic(t - k)});
    }
    return taps;
  }
  x = Pad(x, size, o);
  if (o.mode == kNearest) return {{std::nearbyint(x), 1.0}};
  const double low = std::floor(x);
  return {{low, low + 1 - x}, {low + 1, x - low}};
}

// 0 outside of the image. A weight of nan counts even there.
double ReadAt(const double* plane, const Sizes& sizes,
              const std::vector<double>& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!(at[d] >= 0 && at[d] < static_cast<double>(sizes[d]))) return 0;
    offset = offset * sizes[d] + static_cast<int64_t>(at[d]);
  }
  return plane[offset];
}

// The sum over the product of all dimensions' taps.
double SampleAt(const double* plane, const Sizes& sizes,
                const std::vector<std::vector<Tap>>& taps, size_t dim,
                double weight, bool nearest, std::vector<double>* at) {
  if (dim == taps.size()) {
    const double value = ReadAt(plane, sizes, *at);
    return nearest ? value : weight * value;
  }
  double sum = 0;
  for (const Tap& tap : taps[dim]) {
    (*at)[dim] = tap.at;
    sum +=
        SampleAt(plane, sizes, taps, dim + 1, weight * tap.weight, nearest, at);
  }
  return sum;
}

bool Sample(KernelCall& call, int64_t spatial) {
  const Tensor &input = call.tensor(0), &grid = call.tensor(1);
  const Options o{call.Int(2), call.Int(3), call.Bool(4)};
  if (o.mode < kBilinear || o.mode > kBicubic ||
      (o.mode == kBicubic && spatial != 2)) {
    return call.Fail("grid_sampler: bad interpolation mode");
  }
  if (o.padding < kZeros || o.padding > kReflection) {
    return call.Fail("grid_sampler: bad padding mode");
  }
  if (input.dim() != spatial + 2 || grid.dim() != spatial + 2 ||
      input.size(0) != grid.size(0) || grid.sizes().back() != spatial ||
      input.dtype() != grid.dtype() || !IsFloating(input.dtype())) {
    return call.Fail("grid_sampler: grid " + grid.ToString() +
                     " doesn't fit input " + input.ToString());
  }
  const Sizes image(input.sizes().begin() + 2, input.sizes().end());
  for (int64_t size : image) {
    if (size == 0) return call.Fail("grid_sampler: empty image");
  }
  Sizes sizes = {input.size(0), input.size(1)};
  sizes.insert(sizes.end(), grid.sizes().begin() + 1, grid.sizes().end() - 1);
  Tensor out;
  if (!CheckSizes(call, sizes) || !Allocate(call, input.dtype(), sizes, &out)) {
    return false;
  }
  const std::vector<double> pixels = ReadAll<double>(input);
  const std::vector<double> coordinates = ReadAll<double>(grid);
  const int64_t channels = input.size(1);
  const int64_t in_plane = NumElements(image);
  const int64_t out_plane = NumElements({sizes.begin() + 2, sizes.end()});
  std::vector<double> values(static_cast<size_t>(out.numel()));
  std::vector<double> at(static_cast<size_t>(spatial));
  for (int64_t n = 0; n < input.size(0); ++n) {
    for (int64_t p = 0; p < out_plane; ++p) {
      // The grid names the innermost dimension first.
      std::vector<std::vector<Tap>> taps;
      for (int64_t d = 0; d < spatial; ++d) {
        const double x = coordinates[static_cast<size_t>(
            (n * out_plane + p) * spatial + spatial - 1 - d)];
        taps.push_back(TapsOf(x, image[static_cast<size_t>(d)], o));
      }
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t plane = n * channels + c;
        values[static_cast<size_t>(plane * out_plane + p)] =
            SampleAt(pixels.data() + plane * in_plane, image, taps, 0, 1.0,
                     o.mode == kNearest, &at);
      }
    }
  }
  WriteAll(&out, values);
  call.Return(out);
  return true;
}

bool Sample2d(KernelCall& call) { return Sample(call, 2); }
bool Sample3d(KernelCall& call) { return Sample(call, 3); }

bool SampleAny(KernelCall& call) {
  return Sample(call, call.tensor(0).dim() == 5 ? 3 : 2);
}

constexpr KernelEntry kEntries[] = {
    {"aten.grid_sampler.default", SampleAny},
    {"aten.grid_sampler_2d.default", Sample2d},
    {"aten.grid_sampler_3d.default", Sample3d},
};

}  // namespace

std::span<const KernelEntry> GridSamplerKernels() { return kEntries; }

}  // namespace tenon
