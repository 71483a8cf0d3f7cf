// Means and deviations of groups of channels.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

constexpr int64_t kLanes = 16;

// The sum of f over a row: lanes of their own, so that it vectorises and rounds
// little.
template <typename F>
inline __attribute__((always_inline)) float SumRow(const float* x, int64_t size,
                                                   F f) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lanes[j] += f(x[i + j]);
  }
  for (int64_t j = 0; i + j < size; ++j) lanes[j] += f(x[i + j]);
  float sum = 0;
  for (int64_t j = 0; j < kLanes; ++j) sum += lanes[j];
  return sum;
}

// A row in blocks, whose sums are added in double.
template <typename F>
inline __attribute__((always_inline)) double SumOf(const float* x, int64_t size,
                                                   F f) {
  constexpr int64_t kBlock = 4096;
  double sum = 0;
  for (int64_t i = 0; i < size; i += kBlock) {
    sum += SumRow(x + i, size - i < kBlock ? size - i : kBlock, f);
  }
  return sum;
}

// PyTorch's running mean isn't a number once it has passed an infinity.
inline float Mean(double sum, int64_t count) {
  const float mean = static_cast<float>(sum / static_cast<double>(count));
  const bool is_infinite = __builtin_fabsf(mean) == __builtin_inff();
  return is_infinite && count > 1 ? __builtin_nanf("") : mean;
}

inline float InverseDeviation(double squares, int64_t count, double eps) {
  return static_cast<float>(
      1.0 / __builtin_sqrt(squares / static_cast<double>(count) + eps));
}

// sums[c] += f(x[c], c) over the pixels of an image whose channels are last.
template <typename F>
inline __attribute__((always_inline)) void SumPixels(const float* x,
                                                     const MomentArgs& args,
                                                     float* block, double* sums,
                                                     F f) {
  constexpr int64_t kPixels = 256;
  const int64_t channels = args.channels;
  for (int64_t c = 0; c < channels; ++c) sums[c] = 0;
  for (int64_t p = 0; p < args.pixels;) {
    const int64_t end = p + kPixels < args.pixels ? p + kPixels : args.pixels;
    for (int64_t c = 0; c < channels; ++c) block[c] = 0;
    for (; p < end; ++p) {
      const float* pixel = x + p * channels;
      for (int64_t c = 0; c < channels; ++c) block[c] += f(pixel[c], c);
    }
    for (int64_t c = 0; c < channels; ++c) sums[c] += block[c];
  }
}

double SumChannels(const double* sums, int64_t count) {
  double sum = 0;
  for (int64_t c = 0; c < count; ++c) sum += sums[c];
  return sum;
}

}  // namespace

void GroupMoments(const float* x, const MomentArgs& args) {
  const int64_t size = args.channels / args.groups * args.pixels;
  for (int64_t i = 0; i < args.batch * args.groups; ++i, x += size) {
    const float mean = Mean(SumOf(x, size, [](float v) { return v; }), size);
    const double squares =
        SumOf(x, size, [=](float v) { return (v - mean) * (v - mean); });
    args.mean[i] = mean;
    args.inverse_deviation[i] = InverseDeviation(squares, size, args.eps);
  }
}

void GroupMomentsLast(const float* x, const MomentArgs& args, double* sums) {
  const int64_t channels = args.channels, width = channels / args.groups;
  const int64_t size = width * args.pixels;
  float* block = reinterpret_cast<float*>(sums + channels);
  float* means = block + channels;
  for (int64_t n = 0; n < args.batch; ++n, x += channels * args.pixels) {
    float* mean = args.mean + n * args.groups;
    SumPixels(x, args, block, sums, [](float v, int64_t) { return v; });
    for (int64_t g = 0; g < args.groups; ++g) {
      mean[g] = Mean(SumChannels(sums + g * width, width), size);
      for (int64_t c = 0; c < width; ++c) means[g * width + c] = mean[g];
    }
    SumPixels(x, args, block, sums, [=](float v, int64_t c) {
      return (v - means[c]) * (v - means[c]);
    });
    for (int64_t g = 0; g < args.groups; ++g) {
      args.inverse_deviation[n * args.groups + g] = InverseDeviation(
          SumChannels(sums + g * width, width), size, args.eps);
    }
  }
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
