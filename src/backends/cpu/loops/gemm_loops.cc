// Matrix products: the way that suits the operands, and products of rows with
// columns that lie contiguous, for which nothing has to be packed.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/vectors.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

// Rows of A and columns of B whose products are summed at a time: as many sums
// as registers hold.
#if defined(__AVX512F__)
constexpr int kDotRows = 4;
#else
constexpr int kDotRows = 2;
#endif
constexpr int kDotColumns = 4;

template <int kTileRows, int kTileColumns>
void DotTile(const GemmArgs& g, int64_t i, int64_t j) {
  const float* a = g.a + i * g.a_row;
  const float* b = g.b + j * g.b_column;
  Vector sums[kTileRows][kTileColumns] = {};
  int64_t p = 0;
  for (; p + kLanes <= g.k; p += kLanes) {
    Vector row[kTileRows];
#pragma GCC unroll 4
    for (int r = 0; r < kTileRows; ++r) {
      row[r] = Load<Vector>(a + r * g.a_row + p);
    }
#pragma GCC unroll 4
    for (int c = 0; c < kTileColumns; ++c) {
      const Vector column = Load<Vector>(b + c * g.b_column + p);
#pragma GCC unroll 4
      for (int r = 0; r < kTileRows; ++r) sums[r][c] += row[r] * column;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kTileRows; ++r) {
    const float* x = a + r * g.a_row;
    Quad folded[4] = {};
#pragma GCC unroll 4
    for (int c = 0; c < kTileColumns; ++c) {
      const float* y = b + c * g.b_column;
      folded[c] =
          Fold(sums[r][c], [](Quad left, Quad right) { return left + right; });
      for (int64_t q = p; q + 4 <= g.k; q += 4) {
        folded[c] += Load<Quad>(x + q) * Load<Quad>(y + q);
      }
    }
    Transpose4(folded);
    Quad total = (folded[0] + folded[1]) + (folded[2] + folded[3]);
    for (int64_t q = g.k & ~int64_t{3}; q < g.k; ++q) {
#pragma GCC unroll 4
      for (int c = 0; c < kTileColumns; ++c) {
        total[c] += x[q] * b[c * g.b_column + q];
      }
    }
    total *= g.alpha;
    float* to = g.c + (i + r) * g.c_row + j;
#pragma GCC unroll 4
    for (int c = 0; c < kTileColumns; ++c) {
      to[c] = g.bias == nullptr ? total[c] : total[c] + g.bias[j + c];
    }
  }
}

template <int kTileColumns>
void DotColumns(const GemmArgs& g, int64_t j) {
  int64_t i = 0;
  for (; i + kDotRows <= g.m; i += kDotRows) {
    DotTile<kDotRows, kTileColumns>(g, i, j);
  }
  switch (g.m - i) {
    case 1:
      return DotTile<1, kTileColumns>(g, i, j);
    case 2:
      return DotTile<2, kTileColumns>(g, i, j);
    case 3:
      return DotTile<3, kTileColumns>(g, i, j);
    default:
      return;
  }
}

// Of a matrix that comes from memory each column is read once, from its
// beginning to its end: one stream, which memory delivers half again as fast as
// four. Measured; `DotTile` is for what lies in the cache.
constexpr int64_t kStreamedColumn = 512;
constexpr int64_t kStreamedElements = int64_t{1} << 18;

template <int kTileRows>
void DotLine(const GemmArgs& g, int64_t j) {
  // Sums per row, so that no addition waits for the one before.
  constexpr int kChains = kTileRows < 3 ? 4 : 2;
  const float* b = g.b + j * g.b_column;
  Vector sums[kTileRows][kChains] = {};
  int64_t p = 0;
  for (; p + kChains * kLanes <= g.k; p += kChains * kLanes) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) {
      const Vector column = Load<Vector>(b + p + c * kLanes);
#pragma GCC unroll 4
      for (int r = 0; r < kTileRows; ++r) {
        sums[r][c] += Load<Vector>(g.a + r * g.a_row + p + c * kLanes) * column;
      }
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    Vector all = sums[r][0];
    for (int c = 1; c < kChains; ++c) all += sums[r][c];
    const Quad folded =
        Fold(all, [](Quad left, Quad right) { return left + right; });
    float total = (folded[0] + folded[1]) + (folded[2] + folded[3]);
    const float* x = g.a + r * g.a_row;
    for (int64_t q = p; q < g.k; ++q) total += x[q] * b[q];
    total *= g.alpha;
    g.c[r * g.c_row + j] = g.bias == nullptr ? total : total + g.bias[j];
  }
}

template <int kTileRows>
void MultiplyLines(const GemmArgs& g) {
  for (int64_t j = 0; j < g.n; ++j) DotLine<kTileRows>(g, j);
}

void MultiplyDots(const GemmArgs& g) {
  if (g.k >= kStreamedColumn && g.n * g.k >= kStreamedElements) {
    switch (g.m) {
      case 1:
        return MultiplyLines<1>(g);
      case 2:
        return MultiplyLines<2>(g);
      case 3:
        return MultiplyLines<3>(g);
      default:
        break;
    }
  }
  int64_t j = 0;
  for (; j + kDotColumns <= g.n; j += kDotColumns) {
    DotColumns<kDotColumns>(g, j);
  }
  for (; j < g.n; ++j) DotColumns<1>(g, j);
}

// Packing B costs its elements, a dot product some work at its end. So what
// counts is how many rows share a column of B and how long it is; the numbers
// are measured.
bool IsBestAsDots(const GemmArgs& g) {
  if (g.b_row != 1) return false;
  if (g.b_column == 1 || g.n == 1) return g.n == 1;
  if (g.n <= 2 * kDotColumns && g.k >= 32) return true;
  if (g.m < 4 && g.k >= 8) return true;
  // Blocks are fetched from memory ahead of time, unless their columns lie so
  // far apart that they push each other out of the cache.
  if (g.n * g.k >= kStreamedElements && g.b_column % 1024 != 0) return false;
  return g.m <= 32 && g.m <= g.k / (256 / (kDotRows * kDotRows));
}

}  // namespace

int64_t GemmScratchBytes(const GemmArgs& g) {
  return IsBestAsDots(g) ? 0 : BlockedScratchBytes(g);
}

void Multiply(const GemmArgs& g, float* scratch) {
  if (IsBestAsDots(g)) {
    MultiplyDots(g);
  } else {
    MultiplyBlocked(g, scratch);
  }
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
