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

// Up to this many rows of A are copied once for all columns of B, of more a
// strip at a time.
constexpr int64_t kMaxStrips = 128 / kRows;

// Of a block of B. There have to be several for one to be fetched while
// another is multiplied, and with few rows both fit the second-level cache
// beside A; with more rows, what counts is how often A is copied.
struct BlockSize {
  int64_t depth, width;
};
constexpr BlockSize kFewRows = {384, 144};
constexpr BlockSize kManyRows = {256, 480};
static_assert(kFewRows.width % kColumns == 0);
static_assert(kManyRows.width % kColumns == 0);
constexpr int64_t kLineFloats = 16;  // of a line of the cache

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
      Transpose4(rows);
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

// The same for kLanes of both. Each line of `from` is read at once: where step
// is a multiple of the page's size, there is room for few of them.
inline __attribute__((always_inline)) void InterleaveBlock(const float* from,
                                                           int64_t step,
                                                           int64_t width,
                                                           float* to) {
  Vector rows[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) rows[i] = Load<Vector>(from + i * step);
  Transpose(rows);
#pragma GCC unroll 16
  for (int p = 0; p < kLanes; ++p) Store(to + p * width, rows[p]);
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
    const float* from = b + j * g.b_column;
    // A panel is larger than the first-level cache: a line of it is written
    // once, all columns together.
    const int64_t blocks = depth / kLanes * kLanes;
    for (int64_t p = 0; p < blocks; p += kLanes) {
      for (int64_t i = 0; i < whole; i += kLanes) {
        InterleaveBlock(from + i * g.b_column + p, g.b_column, kColumns,
                        to + p * kColumns + i);
      }
    }
    Interleave(from + blocks, g.b_column, whole, depth - blocks, kColumns,
               to + blocks * kColumns);
    Interleave(from + whole * g.b_column, g.b_column, count - whole, depth,
               kColumns, to + whole);
  }
}

// --- tiles ---

// Part of a block of B that is wanted soon: `count` stretches of memory,
// columns or rows, as B lies.
struct NextBlock {
  const float* b = nullptr;
  int64_t step = 0;
  int64_t count = 0;
  int64_t length = 0;

  // Takes that many stretches from the front.
  NextBlock Take(int64_t most) {
    NextBlock part = *this;
    part.count = Least(most, count);
    b += part.count * step;
    count -= part.count;
    return part;
  }
};

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
  NextBlock next;     // fetched into the second-level cache meanwhile
};

template <int kTileRows, int kTileVectors>
void MultiplyTile(const TileArgs& t) {
  Vector sums[kTileRows][kTileVectors] = {};
  const float* a = t.a;
  const float* b = t.b;
  for (int64_t first = 0; first < t.depth; first += kLineFloats) {
    for (int64_t i = 0; i < t.next.count && first < t.next.length; ++i) {
      __builtin_prefetch(t.next.b + i * t.next.step + first, 0, 2);
    }
    const int64_t last = Least(first + kLineFloats, t.depth);
    for (int64_t p = first; p < last; ++p, a += kRows, b += t.b_step) {
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

bool HasFewRows(const GemmArgs& g) { return g.m <= kMaxStrips * kRows; }

// In floats; keeps what follows aligned.
int64_t StripSize(int64_t depth) { return kRows * RoundUp(depth, 4); }

int64_t NumStrips(const GemmArgs& g) {
  return HasFewRows(g) ? (g.m + kRows - 1) / kRows : 1;
}

class Block {
 public:
  Block(const GemmArgs& g, int64_t max_depth, float* scratch)
      : g_(g),
        is_read_in_place_(IsReadInPlace(g)),
        has_few_rows_(HasFewRows(g)),
        strip_size_(StripSize(max_depth)),
        strips_(scratch),
        panels_(scratch + NumStrips(g) * strip_size_) {}

  // Adds the products of rows [p, p + depth) of B, for columns
  // [j, j + width), to all rows of C. Where there are few, blocks with one p
  // follow each other, and begin with a j of 0.
  void Multiply(int64_t j, int64_t width, int64_t p, int64_t depth,
                NextBlock next) {
    const float* b = g_.b + p * g_.b_row + j * g_.b_column;
    // Panels in place are whole: a tile reads full vectors.
    int64_t in_place = 0;
    if (is_read_in_place_) {
      in_place = width % kLanes == 0 ? width : width / kColumns * kColumns;
    }
    PackPanels(g_, b + in_place * g_.b_column, width - in_place, depth,
               panels_);
    TileArgs t;
    t.a = strips_;
    t.depth = depth;
    t.c_row = g_.c_row;
    t.alpha = g_.alpha;
    t.is_added = p > 0;
    const int64_t strips = (g_.m + kRows - 1) / kRows;
    const int64_t tiles = strips * ((width + kColumns - 1) / kColumns);
    const int64_t next_part = (next.count + tiles - 1) / tiles;
    for (int64_t i = 0; i < g_.m; i += kRows) {
      const int64_t rows = Least(g_.m - i, kRows);
      if (!has_few_rows_ || j == 0) {
        Interleave(g_.a + i * g_.a_row + p, g_.a_row, rows, depth, kRows,
                   const_cast<float*>(t.a));
      }
      for (int64_t at = 0; at < width; at += kColumns) {
        const bool is_in_place = at < in_place;
        t.b = is_in_place ? b + at : panels_ + (at - in_place) * depth;
        t.b_step = is_in_place ? g_.b_row : kColumns;
        t.c = g_.c + i * g_.c_row + j + at;
        t.bias = p == 0 && g_.bias != nullptr ? g_.bias + j + at : nullptr;
        t.next = next.Take(next_part);
        MultiplyColumns(rows, Least(width - at, kColumns), t);
      }
      if (has_few_rows_) t.a += strip_size_;
    }
  }

 private:
  const GemmArgs& g_;
  const bool is_read_in_place_, has_few_rows_;
  const int64_t strip_size_;
  float* const strips_;
  float* const panels_;
};

int64_t ScratchBytes(const GemmArgs& g, const BlockSize& limit) {
  const int64_t depth = Least(g.k, limit.depth);
  int64_t width = Least(RoundUp(g.n, kColumns), limit.width);
  if (IsReadInPlace(g)) {
    // Only the last columns are packed. Where b_row is 1, fewer columns than n
    // have to do with this too.
    width = g.n % kLanes == 0 && g.b_row != 1 ? 0 : kColumns;
  }
  return (NumStrips(g) * StripSize(depth) + width * depth) *
         static_cast<int64_t>(sizeof(float));
}

// Where the blocks of B lie, in the order in which they are multiplied.
class BlockOrder {
 public:
  explicit BlockOrder(const GemmArgs& g) : g_(g) {
    const BlockSize& limit = HasFewRows(g) ? kFewRows : kManyRows;
    size_.depth = EvenPart(g.k, limit.depth);
    size_.width = RoundUp(EvenPart(g.n, limit.width), kColumns);
    down_ = (g.k + size_.depth - 1) / size_.depth;
    across_ = (g.n + size_.width - 1) / size_.width;
  }

  const BlockSize& size() const { return size_; }
  int64_t count() const { return down_ * across_; }
  // Of few rows, A is copied once for all blocks side by side; of many, it is
  // C that takes more memory, and stays in the cache along a column of blocks.
  int64_t p(int64_t i) const {
    return (HasFewRows(g_) ? i / across_ : i % down_) * size_.depth;
  }
  int64_t j(int64_t i) const {
    return (HasFewRows(g_) ? i % across_ : i / down_) * size_.width;
  }
  int64_t depth(int64_t i) const { return Least(g_.k - p(i), size_.depth); }
  int64_t width(int64_t i) const { return Least(g_.n - j(i), size_.width); }
  // What to fetch of a block; nothing after the last, nor where tiles read B
  // where it lies.
  NextBlock Stretches(int64_t i) const {
    NextBlock next;
    if (i >= count() || IsReadInPlace(g_)) return next;
    const bool has_columns = g_.b_row == 1;
    next.b = g_.b + j(i) * g_.b_column + p(i) * g_.b_row;
    next.step = has_columns ? g_.b_column : g_.b_row;
    next.count = has_columns ? width(i) : depth(i);
    next.length = has_columns ? depth(i) : width(i);
    return next;
  }

 private:
  const GemmArgs& g_;
  BlockSize size_;
  int64_t down_, across_;
};

}  // namespace

int64_t BlockedScratchBytes(const GemmArgs& g) {
  if (HasFewRows(g)) return ScratchBytes(g, kFewRows);
  // Fewer rows than g.m have to do with this too.
  GemmArgs few = g;
  few.m = kMaxStrips * kRows;
  const int64_t for_few = ScratchBytes(few, kFewRows);
  const int64_t for_many = ScratchBytes(g, kManyRows);
  return for_few > for_many ? for_few : for_many;
}

void MultiplyBlocked(const GemmArgs& g, float* scratch) {
  const BlockOrder order(g);
  Block block(g, order.size().depth, scratch);
  for (int64_t i = 0; i < order.count(); ++i) {
    block.Multiply(order.j(i), order.width(i), order.p(i), order.depth(i),
                   order.Stretches(i + 1));
  }
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
