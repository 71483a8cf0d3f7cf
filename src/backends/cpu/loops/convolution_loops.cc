// Convolutions between tensors with their channels last.
//
// A tile of the result stays in registers: some pixels by some vectors of
// channels. For each tap, the pixels' places in the input are looked up in a
// table, which is XNNPACK's indirect convolution (Dukhan, "The Indirect
// Convolution Algorithm", 2019) with offsets for pointers; a tap outside of the
// image reads zeros.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/vectors.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

// As for matrix products: sums, weights and an input fill the registers.
#if defined(__AVX512F__)
constexpr int kPixels = 8;
#else
constexpr int kPixels = 4;
#endif
constexpr int kVectors = 3;

inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }

// Where a tile lies.
struct Tile {
  int64_t pixel;
  int64_t block;  // the first of its vectors
};

template <int kTilePixels, int kTileVectors, typename V>
inline __attribute__((always_inline)) void Finish(
    const ConvolutionArgs& g, const Tile& tile,
    V (&sums)[kTilePixels][kTileVectors]) {
  constexpr int64_t kWidth = sizeof(V) / sizeof(float);
#pragma GCC unroll 4
  for (int v = 0; v < kTileVectors; ++v) {
    const int64_t channel = (tile.block + v) * kWidth;
    const int64_t count = Least(g.out_channels - channel, kWidth);
    const bool is_whole = count == kWidth;
    V bias = {};
    if (g.bias != nullptr) {
      bias = is_whole ? Load<V>(g.bias + channel)
                      : LoadFirst<V>(g.bias + channel, count);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kTilePixels; ++r) {
      const int64_t at = (tile.pixel + r) * g.out_channels + channel;
      V sum = sums[r][v] + bias;
      if (g.addend != nullptr) {
        sum += is_whole ? Load<V>(g.addend + at)
                        : LoadFirst<V>(g.addend + at, count);
      }
      // Neither comparison holds for what isn't a number.
      if (g.has_bounds) {
        const V low = V{} + g.low, high = V{} + g.high;
        sum = sum < low ? low : sum;
        sum = sum > high ? high : sum;
      }
      if (is_whole) {
        Store(g.out + at, sum);
      } else {
        StoreFirst(g.out + at, sum, count);
      }
    }
  }
}

template <int kTilePixels>
inline __attribute__((always_inline)) void FindRows(
    const ConvolutionArgs& g, const Tile& tile, int64_t tap,
    const float* (&rows)[kTilePixels]) {
  const int32_t* offset = g.offsets + tile.pixel * g.taps + tap;
#pragma GCC unroll 8
  for (int r = 0; r < kTilePixels; ++r, offset += g.taps) {
    rows[r] = *offset < 0 ? g.zeros : g.x + *offset;
  }
}

// All input channels meet all output channels.
struct Dense {
  template <int kTilePixels, int kTileVectors, typename V>
  static void Run(const ConvolutionArgs& g, const Tile& tile) {
    constexpr int64_t kWidth = sizeof(V) / sizeof(float);
    const int64_t step = g.taps * g.in_channels * kWidth;
    const float* weight = g.weight + tile.block * step;
    V sums[kTilePixels][kTileVectors] = {};
    for (int64_t tap = 0; tap < g.taps; ++tap) {
      const float* rows[kTilePixels];
      FindRows<kTilePixels>(g, tile, tap, rows);
      for (int64_t c = 0; c < g.in_channels; ++c, weight += kWidth) {
        V w[kTileVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kTileVectors; ++v)
          w[v] = Load<V>(weight + v * step);
#pragma GCC unroll 8
        for (int r = 0; r < kTilePixels; ++r) {
#pragma GCC unroll 4
          for (int v = 0; v < kTileVectors; ++v)
            sums[r][v] += rows[r][c] * w[v];
        }
      }
    }
    Finish(g, tile, sums);
  }
};

// Each channel has a filter of its own.
struct Depthwise {
  template <int kTilePixels, int kTileVectors, typename V>
  static void Run(const ConvolutionArgs& g, const Tile& tile) {
    constexpr int64_t kWidth = sizeof(V) / sizeof(float);
    const int64_t step = g.taps * kWidth;
    const float* weight = g.weight + tile.block * step;
    const int64_t channel = tile.block * kWidth;
    const int64_t count = g.out_channels - channel;
    const bool is_whole = count >= kTileVectors * kWidth;
    V sums[kTilePixels][kTileVectors] = {};
    for (int64_t tap = 0; tap < g.taps; ++tap, weight += kWidth) {
      const float* rows[kTilePixels];
      FindRows<kTilePixels>(g, tile, tap, rows);
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) {
        const V w = Load<V>(weight + v * step);
        const int64_t at = channel + v * kWidth;
        if (is_whole) {
#pragma GCC unroll 8
          for (int r = 0; r < kTilePixels; ++r) {
            sums[r][v] += Load<V>(rows[r] + at) * w;
          }
        } else {
          const int64_t part = Least(g.out_channels - at, kWidth);
#pragma GCC unroll 8
          for (int r = 0; r < kTilePixels; ++r) {
            sums[r][v] += LoadFirst<V>(rows[r] + at, part) * w;
          }
        }
      }
    }
    Finish(g, tile, sums);
  }
};

template <typename Kind, int kTileVectors, typename V, int kTilePixels>
void RunPixels(const ConvolutionArgs& g, const Tile& tile, int64_t pixels) {
  if constexpr (kTilePixels > 1) {
    if (pixels < kTilePixels) {
      return RunPixels<Kind, kTileVectors, V, kTilePixels - 1>(g, tile, pixels);
    }
  }
  Kind::template Run<kTilePixels, kTileVectors, V>(g, tile);
}

template <typename Kind, int kTileVectors, typename V>
void RunBlock(const ConvolutionArgs& g, int64_t block) {
  // All tiles about as high: one of few pixels takes nearly as long.
  const int64_t tiles = (g.pixels + kPixels - 1) / kPixels;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t begin = g.pixels * i / tiles,
                  end = g.pixels * (i + 1) / tiles;
    RunPixels<Kind, kTileVectors, V, kPixels>(g, {begin, block}, end - begin);
  }
}

template <typename Kind, typename V>
void RunAll(const ConvolutionArgs& g) {
  constexpr int64_t kWidth = sizeof(V) / sizeof(float);
  const int64_t blocks = (g.out_channels + kWidth - 1) / kWidth;
  const int64_t groups = (blocks + kVectors - 1) / kVectors;
  for (int64_t i = 0; i < groups; ++i) {
    const int64_t begin = blocks * i / groups, end = blocks * (i + 1) / groups;
    switch (end - begin) {
      case 1:
        RunBlock<Kind, 1, V>(g, begin);
        break;
      case 2:
        RunBlock<Kind, 2, V>(g, begin);
        break;
      default:
        RunBlock<Kind, kVectors, V>(g, begin);
    }
  }
}

template <typename Kind>
void RunWide(const ConvolutionArgs& g) {
#if defined(__AVX512F__)
  if (g.block < kLanes) return RunAll<Kind, HalfVector>(g);
#endif
  RunAll<Kind, Vector>(g);
}

}  // namespace

int64_t ConvolutionBlock(int64_t out_channels) {
#if defined(__AVX512F__)
  // Half vectors cost as much as whole ones, or half of it.
  const int64_t rest = out_channels % kLanes;
  if (out_channels < 2 * kLanes && rest > 0 && rest <= kLanes / 2) {
    return kLanes / 2;
  }
#endif
  (void)out_channels;
  return kLanes;
}

void Convolve(const ConvolutionArgs& g) { RunWide<Dense>(g); }

void ConvolveDepthwise(const ConvolutionArgs& g) { RunWide<Depthwise>(g); }

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
