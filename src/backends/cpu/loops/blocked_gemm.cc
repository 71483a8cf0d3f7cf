// Matrix products in blocks, after Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication" (2008).
//
// A tile of C stays in registers while the sum over k runs: kRows rows by up to
// kVectors vectors of columns. For that, B is copied block by block into panels
// as wide as a tile, in the order in which tiles read them, and A into a strip
// as high as a tile. A block of B is sized for the second-level cache, a strip
// of A for the first, so the memory for both is small and known beforehand:
// BlockedScratchBytes.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/vectors.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

// The sums of a tile, a row of B and an element of A fill the registers.
#if defined(__AVX512F__)
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 3;
constexpr int64_t kColumns = kVectors * kLanes;

// Of a block of B; multiples of every kColumns.
constexpr int64_t kMaxDepth = 256;
constexpr int64_t kMaxWidth = 480;
static_assert(kMaxWidth % kColumns == 0);

inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t RoundUp(int64_t size, int64_t step) {
  return (size + step - 1) / step * step;
}
// `size` in the fewest parts of at most `limit`, all about as large.
inline int64_t EvenPart(int64_t size, int64_t limit) {
  const int64_t parts = (size + limit - 1) / limit;
  return (size + parts - 1) / parts;
}

// --- packing ---

// to[p * width + i] = from[i * step + p], for i < count, p < depth. Where count
// is no multiple of 4, `to` also gets repetitions of the last i.
void Interleave(const float* from, int64_t step, int64_t count, int64_t depth,
                int64_t width, float* to) {
  for (int64_t i = 0; i < count; i += 4) {
    const int64_t last = count - 1 - i;
    const float* r0 = from + i * step;
    const float* r1 = r0 + Least(1, last) * step;
    const float* r2 = r0 + Least(2, last) * step;
    const float* r3 = r0 + Least(3, last) * step;
    float* out = to + i;
    int64_t p = 0;
    for (; p + 4 <= depth; p += 4, out += 4 * width) {
      Quad rows[4] = {Load<Quad>(r0 + p), Load<Quad>(r1 + p),
                      Load<Quad>(r2 + p), Load<Quad>(r3 + p)};
      Transpose(rows);
      for (int q = 0; q < 4; ++q) Store(out + q * width, rows[q]);
    }
    for (; p < depth; ++p, out += width) {
      out[0] = r0[p];
      out[1] = r1[p];
      out[2] = r2[p];
      out[3] = r3[p];
    }
  }
}

// One row of a panel, and zeros up to the end of the last vector.
inline void PackRow(const float* from, int64_t count, float* to) {
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    Store(to + j, Load<Vector>(from + j));
  }
  if (j == count) return;
  Store(to + j, Vector{});
  for (; j < count; ++j) to[j] = from[j];
}

// `width` columns of a block of B as panels. Memory is read in long stretches:
// along rows or along columns, as B lies.
void PackPanels(const GemmArgs& g, const float* b, int64_t width, int64_t depth,
                float* to) {
  if (g.b_column == 1) {
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t j = 0; j < width; j += kColumns) {
        PackRow(b + p * g.b_row + j, Least(width - j, kColumns),
                to + j * depth + p * kColumns);
      }
    }
    return;
  }
  for (int64_t j = 0; j < width; j += kColumns, to += kColumns * depth) {
    const int64_t count = Least(width - j, kColumns);
    const int64_t whole = count / kLanes * kLanes;
    for (int64_t p = 0; p < depth && whole < count; ++p) {
      Store(to + p * kColumns + whole, Vector{});
    }
    Interleave(b + j * g.b_column, g.b_column, count, depth, kColumns, to);
  }
}

// --- tiles ---

struct TileArgs {
  const float* a;  // a strip
  const float* b;
  int64_t b_step;  // between rows of b
  int64_t depth;
  float* c;
  int64_t c_row;
  float alpha;
  const float* bias;  // or null
  bool is_added;      // to what C holds
};

template <int kTileRows, int kTileVectors>
void MultiplyTile(const TileArgs& t) {
  Vector sums[kTileRows][kTileVectors] = {};
  const float* a = t.a;
  const float* b = t.b;
  for (int64_t p = 0; p < t.depth; ++p, a += kRows, b += t.b_step) {
    Vector row[kTileVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      row[v] = Load<Vector>(b + v * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kTileVectors; ++v) sums[r][v] += a[r] * row[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kTileVectors; ++v) {
      float* c = t.c + r * t.c_row + v * kLanes;
      Vector sum = t.alpha * sums[r][v];
      if (t.bias != nullptr) sum += Load<Vector>(t.bias + v * kLanes);
      if (t.is_added) sum += Load<Vector>(c);
      Store(c, sum);
    }
  }
}

template <int kTileRows>
void MultiplyVectors(int64_t rows, int64_t vectors, const TileArgs& t) {
  if constexpr (kTileRows > 1) {
    if (rows < kTileRows) {
      return MultiplyVectors<kTileRows - 1>(rows, vectors, t);
    }
  }
  switch (vectors) {
    case 1:
      return MultiplyTile<kTileRows, 1>(t);
    case 2:
      return MultiplyTile<kTileRows, 2>(t);
    default:
      return MultiplyTile<kTileRows, kVectors>(t);
  }
}

void MultiplyColumns(int64_t rows, int64_t columns, const TileArgs& t) {
  if (columns % kLanes == 0) {
    return MultiplyVectors<kRows>(rows, columns / kLanes, t);
  }
  // The last vector is only partly in C.
  float sums[kRows * kColumns];
  TileArgs whole = t;
  whole.c = sums;
  whole.c_row = kColumns;
  whole.bias = nullptr;
  whole.is_added = false;
  MultiplyVectors<kRows>(rows, (columns + kLanes - 1) / kLanes, whole);
  for (int64_t r = 0; r < rows; ++r) {
    const float* sum = sums + r * kColumns;
    float* c = t.c + r * t.c_row;
    for (int64_t j = 0; j < columns; ++j) {
      float value = sum[j];
      if (t.bias != nullptr) value += t.bias[j];
      if (t.is_added) value += c[j];
      c[j] = value;
    }
  }
}

// Whether tiles read B where it lies, but for its last columns: packing doesn't
// pay when few strips of A meet it. Rows far apart tend to share cache sets, so
// reading them twice costs more.
bool IsReadInPlace(const GemmArgs& g) {
  const int64_t most_strips = g.b_row <= 1024 ? 8 : 2;
  return g.b_column == 1 && g.m <= most_strips * kRows;
}

// In floats; keeps what follows aligned.
int64_t StripSize(const GemmArgs& g) {
  return kRows * RoundUp(Least(g.k, kMaxDepth), 4);
}

class Block {
 public:
  Block(const GemmArgs& g, float* scratch)
      : g_(g),
        is_read_in_place_(IsReadInPlace(g)),
        strip_(scratch),
        panels_(scratch + StripSize(g)) {}

  // Adds the products of rows [p, p + depth) of B, for columns
  // [j, j + width), to all rows of C.
  void Multiply(int64_t j, int64_t width, int64_t p, int64_t depth) {
    const float* b = g_.b + p * g_.b_row + j * g_.b_column;
    // Panels in place are whole: a tile reads full vectors.
    int64_t in_place = 0;
    if (is_read_in_place_) {
      in_place = width % kLanes == 0 ? width : width / kColumns * kColumns;
    }
    PackPanels(g_, b + in_place * g_.b_column, width - in_place, depth,
               panels_);
    TileArgs t;
    t.a = strip_;
    t.depth = depth;
    t.c_row = g_.c_row;
    t.alpha = g_.alpha;
    t.is_added = p > 0;
    for (int64_t i = 0; i < g_.m; i += kRows) {
      const int64_t rows = Least(g_.m - i, kRows);
      Interleave(g_.a + i * g_.a_row + p, g_.a_row, rows, depth, kRows, strip_);
      for (int64_t at = 0; at < width; at += kColumns) {
        const bool is_in_place = at < in_place;
        t.b = is_in_place ? b + at : panels_ + (at - in_place) * depth;
        t.b_step = is_in_place ? g_.b_row : kColumns;
        t.c = g_.c + i * g_.c_row + j + at;
        t.bias = p == 0 && g_.bias != nullptr ? g_.bias + j + at : nullptr;
        MultiplyColumns(rows, Least(width - at, kColumns), t);
      }
    }
  }

 private:
  const GemmArgs& g_;
  const bool is_read_in_place_;
  float* const strip_;
  float* const panels_;
};

}  // namespace

int64_t BlockedScratchBytes(const GemmArgs& g) {
  const int64_t depth = Least(g.k, kMaxDepth);
  int64_t width = Least(RoundUp(g.n, kColumns), kMaxWidth);
  if (IsReadInPlace(g)) {
    // Only the last columns are packed. Where b_row is 1, fewer columns than n
    // have to do with this too.
    width = g.n % kLanes == 0 && g.b_row != 1 ? 0 : kColumns;
  }
  return (StripSize(g) + width * depth) * static_cast<int64_t>(sizeof(float));
}

void MultiplyBlocked(const GemmArgs& g, float* scratch) {
  const int64_t max_depth = EvenPart(g.k, kMaxDepth);
  const int64_t max_width = RoundUp(EvenPart(g.n, kMaxWidth), kColumns);
  Block block(g, scratch);
  for (int64_t j = 0; j < g.n; j += max_width) {
    for (int64_t p = 0; p < g.k; p += max_depth) {
      block.Multiply(j, Least(g.n - j, max_width), p,
                     Least(g.k - p, max_depth));
    }
  }
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
