#include "kernels/resampling.h"

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

using Kind = Resampling;
using Axis = ResampledAxis;
using Tap = ResamplingTap;
using Taps = ResamplingTaps;

// Input elements per output element.
double StepOf(const Axis& a) {
  if (a.align_corners) {
    return a.out > 1
               ? static_cast<double>(a.in - 1) / static_cast<double>(a.out - 1)
               : 0.0;
  }
  if (a.scale && *a.scale > 0) return 1.0 / *a.scale;
  return static_cast<double>(a.in) / static_cast<double>(a.out);
}

// In float, as PyTorch does whatever the dtype: the rounding decides.
int64_t NearestIndex(const Axis& a, int64_t i, bool exact) {
  if (!exact) {
    if (a.out == a.in) return i;
    if (a.out == 2 * a.in) return i / 2;
  }
  const float step = a.scale && *a.scale > 0
                         ? static_cast<float>(1.0 / *a.scale)
                         : static_cast<float>(a.in) / static_cast<float>(a.out);
  const float at = exact ? (static_cast<float>(i) + 0.5f) * step
                         : static_cast<float>(i) * step;
  return at >= static_cast<float>(a.in)
             ? a.in - 1
             : std::min(static_cast<int64_t>(std::floor(at)), a.in - 1);
}

// Keys' cubic convolution.
double Cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// The filter is widened by the step when shrinking.
std::vector<Tap> AntialiasTaps(const Axis& a, int64_t i, bool cubic) {
  const double step = StepOf(a);
  const double radius = cubic ? 2.0 : 1.0;
  const double support = radius * std::max(step, 1.0);
  const double inverse = step >= 1 ? 1.0 / step : 1.0;
  const double center = step * (static_cast<double>(i) + 0.5);
  const double limit = static_cast<double>(a.in);
  const int64_t first =
      static_cast<int64_t>(std::clamp(center - support + 0.5, 0.0, limit));
  const int64_t last =
      static_cast<int64_t>(std::clamp(center + support + 0.5, 0.0, limit));
  std::vector<Tap> taps;
  double total = 0;
  for (int64_t at = first; at < last; ++at) {
    const double x = (static_cast<double>(at) - center + 0.5) * inverse;
    const double weight =
        cubic ? Cubic(x, -0.5) : std::max(0.0, 1.0 - std::abs(x));
    taps.push_back({at, weight});
    total += weight;
  }
  for (Tap& tap : taps) {
    if (total != 0) tap.weight /= total;
  }
  return taps;
}

std::vector<Tap> TapsOf(Kind kind, const Axis& a, int64_t i) {
  if (kind == Kind::kNearest || kind == Kind::kNearestExact) {
    return {{NearestIndex(a, i, kind == Kind::kNearestExact), 1.0}};
  }
  if (kind == Kind::kLinearAntialias || kind == Kind::kCubicAntialias) {
    return AntialiasTaps(a, i, kind == Kind::kCubicAntialias);
  }
  const double step = StepOf(a);
  double at = a.align_corners ? step * static_cast<double>(i)
                              : step * (static_cast<double>(i) + 0.5) - 0.5;
  if (kind == Kind::kLinear && at < 0) at = 0;
  const double largest = static_cast<double>(a.in);
  const int64_t base =
      static_cast<int64_t>(std::floor(std::clamp(at, -2.0, largest + 1)));
  if (kind == Kind::kLinear) {
    const int64_t low = std::min(base, a.in - 1);
    const double t = std::clamp(at - static_cast<double>(low), 0.0, 1.0);
    return {{low, 1 - t}, {std::min(low + 1, a.in - 1), t}};
  }
  const int64_t low = std::min(base, a.in - 1);
  const double t = std::clamp(at - static_cast<double>(low), 0.0, 1.0);
  std::vector<Tap> taps;
  for (int64_t k = -1; k <= 2; ++k) {
    taps.push_back({std::clamp<int64_t>(low + k, 0, a.in - 1),
                    Cubic(t - static_cast<double>(k), -0.75)});
  }
  return taps;
}

}  // namespace

ResamplingTaps FindTaps(Resampling kind, const ResampledAxis& a) {
  Taps taps;
  for (int64_t i = 0; i < a.out; ++i) taps.push_back(TapsOf(kind, a, i));
  return taps;
}

}  // namespace tenon
