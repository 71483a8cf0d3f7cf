// Pooling of one plane. A vector holds windows that lie side by side, so their
// taps are a vector too: loaded as it is, or every other element. Where the
// channels lie side by side, it holds channels.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/vectors.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

// Elements 0, 2, 4 .. of what `a` and `b` hold, `b` starting with the last
// element of `a`.
inline __attribute__((always_inline)) Quad EveryOther(Quad a, Quad b) {
  return __builtin_shufflevector(a, b, 0, 2, 5, 7);
}
#if defined(__AVX512F__)
inline __attribute__((always_inline)) Vector EveryOther(Vector a, Vector b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21,
                                 23, 25, 27, 29, 31);
}
#elif defined(__AVX2__)
inline __attribute__((always_inline)) Vector EveryOther(Vector a, Vector b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15);
}
#endif

// x[0], x[kStep], x[2 * kStep] .., and nothing after the last of them.
template <typename V, int kStep>
inline __attribute__((always_inline)) V LoadSteps(const float* x) {
  if constexpr (kStep == 1 || sizeof(V) == sizeof(float)) {
    return Load<V>(x);
  } else {
    static_assert(kStep == 2);
    constexpr int64_t kCount = sizeof(V) / sizeof(float);
    return EveryOther(Load<V>(x), Load<V>(x + kCount - 1));
  }
}

// The taps of a window that lie inside the input, along one dimension.
struct Taps {
  int64_t first, end;
};

inline Taps TapsAt(const PoolArgs& p, int d, int64_t at) {
  const int64_t start = at * p.stride[d] - p.padding[d];
  const int64_t step = p.dilation[d];
  // How many lie in `size` elements. Most windows are dense: no division.
  const auto count_in = [=](int64_t size) {
    return step == 1 ? size : (size + step - 1) / step;
  };
  Taps taps = {0, p.kernel[d]};
  if (start < 0) taps.first = count_in(-start);
  const int64_t fit = count_in(p.in_size[d] - start);
  if (fit < taps.end) taps.end = fit < 0 ? 0 : fit;
  return taps;
}

// An index for each element.
template <typename V>
struct IndexOf;
template <>
struct IndexOf<float> {
  using Type = int32_t;
};
template <>
struct IndexOf<Quad> {
  typedef int32_t Type __attribute__((vector_size(4 * sizeof(int32_t))));
};
#if defined(__AVX2__)
template <>
struct IndexOf<Vector> {
  using Type = IntVector;
};
#endif

// What windows have given so far.
template <typename V>
struct SumOf {
  static constexpr bool kHasIndices = false;
  using Index = typename IndexOf<V>::Type;

  SumOf() = default;
  explicit SumOf(Index) {}
  void Take(V x) { sum += x; }
  void Take(V x, Index) { Take(x); }
  V value() const { return sum; }

  V sum{};
};

// The maximum, or the last element that isn't a number: kept apart, so that the
// next maximum needs one operation on the last.
template <typename V>
struct MaxOf {
  static constexpr bool kHasIndices = false;
  using Index = typename IndexOf<V>::Type;

  MaxOf() = default;
  explicit MaxOf(Index) {}
  void Take(V x) {
    max = x > max ? x : max;
    not_number = x != x ? x : not_number;
  }
  void Take(V x, Index) { Take(x); }
  V value() const { return not_number != not_number ? not_number : max; }

  V max = V{} - __builtin_inff();
  V not_number{};
};

// The same, with the index of the first maximum.
template <typename V>
struct IndexedMaxOf {
  static constexpr bool kHasIndices = true;
  using Index = typename IndexOf<V>::Type;

  explicit IndexedMaxOf(Index first) : index(first) {}
  void Take(V x, Index at) {
    const auto is_taken = (x > max) | (x != x);
    max = is_taken ? x : max;
    index = is_taken ? at : index;
  }
  V value() const { return max; }

  V max = V{} - __builtin_inff();
  Index index;  // in the plane
};

// A row of windows.
struct Row {
  // Columns whose windows have all their taps.
  int64_t first_whole, end_whole;
  const float* plane;
  int64_t start;  // where the window of column 0 would start
  Taps rows, columns;
  float* out;
  int64_t* indices;  // if Op has any
};

// The windows of column `at` and those after it, kTaps wide, or whatever
// row.columns says.
template <template <typename> typename Op, typename V, int kStep, int kTaps = 0>
inline __attribute__((always_inline)) void Windows(const PoolArgs& p,
                                                   const Row& row, int64_t at) {
  constexpr int kCount = sizeof(V) / sizeof(float);
  using Index = typename IndexOf<V>::Type;
  int32_t steps[kCount];
  for (int l = 0; l < kCount; ++l) steps[l] = l * kStep;
  Index lane;
  __builtin_memcpy(&lane, steps, sizeof lane);
  const auto index_of = [&](int64_t r, int64_t c) {
    return row.start + at * p.stride[1] + r * p.dilation[0] * p.in_size[1] +
           c * p.dilation[1];
  };
  Op<V> result(
      lane + static_cast<int32_t>(index_of(row.rows.first, row.columns.first)));
  for (int64_t r = row.rows.first; r < row.rows.end; ++r) {
    const Taps columns = kTaps > 0 ? Taps{0, kTaps} : row.columns;
#pragma GCC unroll 3
    for (int64_t c = columns.first; c < columns.end; ++c) {
      const int64_t index = index_of(r, c);
      result.Take(LoadSteps<V, kStep>(row.plane + index),
                  lane + static_cast<int32_t>(index));
    }
  }
  Store(row.out + at, result.value());
  if constexpr (Op<V>::kHasIndices) {
    __builtin_memcpy(steps, &result.index, sizeof lane);
    for (int l = 0; l < kCount; ++l) row.indices[at + l] = steps[l];
  }
}

// The whole windows of a row. The last vector may write again what the one
// before has.
template <template <typename> typename Op, typename V, int kStep>
inline __attribute__((always_inline)) bool WholeWindows(const PoolArgs& p,
                                                        const Row& row) {
  constexpr int64_t kCount = sizeof(V) / sizeof(float);
  const int64_t end = row.end_whole;
  if (end - row.first_whole < kCount) return false;
  for (int64_t at = row.first_whole; at < end; at += kCount) {
    if (at > end - kCount) at = end - kCount;
    switch (p.kernel[1]) {
      case 2:
        Windows<Op, V, kStep, 2>(p, row, at);
        break;
      case 3:
        Windows<Op, V, kStep, 3>(p, row, at);
        break;
      default:
        Windows<Op, V, kStep>(p, row, at);
    }
  }
  return true;
}

template <template <typename> typename Op>
void PoolRow(const PoolArgs& p, Row row) {
  bool is_done = false;
  if (p.stride[1] == 1) {
    is_done = WholeWindows<Op, Vector, 1>(p, row) ||
              WholeWindows<Op, Quad, 1>(p, row);
  } else if (p.stride[1] == 2) {
    is_done = WholeWindows<Op, Vector, 2>(p, row) ||
              WholeWindows<Op, Quad, 2>(p, row);
  }
  for (int64_t at = 0; at < p.out_size[1]; ++at) {
    if (is_done && at == row.first_whole) at = row.end_whole;
    if (at == p.out_size[1]) break;
    row.columns = TapsAt(p, 1, at);
    Windows<Op, float, 1>(p, row, at);
  }
}

template <template <typename> typename Op>
void Pool(const float* x, float* out, int64_t* indices, const PoolArgs& p) {
  const auto is_whole = [&](int64_t at) {
    const Taps taps = TapsAt(p, 1, at);
    return taps.first == 0 && taps.end == p.kernel[1];
  };
  Row row = {0, p.out_size[1], x, 0, {}, {0, p.kernel[1]}, out, indices};
  while (row.first_whole < row.end_whole && !is_whole(row.first_whole)) {
    ++row.first_whole;
  }
  while (row.end_whole > row.first_whole && !is_whole(row.end_whole - 1)) {
    --row.end_whole;
  }
  for (int64_t at = 0; at < p.out_size[0]; ++at) {
    row.start = (at * p.stride[0] - p.padding[0]) * p.in_size[1] - p.padding[1];
    row.rows = TapsAt(p, 0, at);
    PoolRow<Op>(p, row);
    row.out += p.out_size[1];
    if constexpr (Op<float>::kHasIndices) row.indices += p.out_size[1];
  }
}

// --- channels last: a vector holds channels of one window ---

// The taps of one window.
struct Window {
  Taps rows, columns;
  const float* plane;
  int64_t start;  // where the first tap would lie
  int64_t row_step, column_step;
};

// What kCount vectors of channels give. Sums are taken row by row, so that
// large windows lose less.
template <template <typename> typename Op, typename V, int kCount>
inline __attribute__((always_inline)) void PoolChannels(const Window& w,
                                                        int64_t channel,
                                                        float* out) {
  constexpr int64_t kStep = sizeof(V) / sizeof(float);
  Op<V> all[kCount];
  for (int64_t r = w.rows.first; r < w.rows.end; ++r) {
    Op<V> row[kCount];
    for (int64_t c = w.columns.first; c < w.columns.end; ++c) {
      const float* x =
          w.plane + (w.start + r * w.row_step + c * w.column_step + channel);
      for (int i = 0; i < kCount; ++i) row[i].Take(Load<V>(x + i * kStep));
    }
    for (int i = 0; i < kCount; ++i) all[i].Take(row[i].value());
  }
  for (int i = 0; i < kCount; ++i) {
    Store(out + channel + i * kStep, all[i].value());
  }
}

template <template <typename> typename Op>
void PoolLast(const float* x, float* out, int64_t channels, const PoolArgs& p) {
  Window w;
  w.plane = x;
  w.row_step = p.dilation[0] * p.in_size[1] * channels;
  w.column_step = p.dilation[1] * channels;
  for (int64_t oh = 0; oh < p.out_size[0]; ++oh) {
    w.rows = TapsAt(p, 0, oh);
    const int64_t top = oh * p.stride[0] - p.padding[0];
    for (int64_t ow = 0; ow < p.out_size[1]; ++ow) {
      w.columns = TapsAt(p, 1, ow);
      const int64_t left = ow * p.stride[1] - p.padding[1];
      w.start = (top * p.in_size[1] + left) * channels;
      int64_t c = 0;
      for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
        PoolChannels<Op, Vector, 4>(w, c, out);
      }
      for (; c + kLanes <= channels; c += kLanes) {
        PoolChannels<Op, Vector, 1>(w, c, out);
      }
      for (; c < channels; ++c) PoolChannels<Op, float, 1>(w, c, out);
      out += channels;
    }
  }
}

}  // namespace

void MaxPoolLast(const float* x, float* out, int64_t channels,
                 const PoolArgs& args) {
  PoolLast<MaxOf>(x, out, channels, args);
}

void SumPoolLast(const float* x, float* out, int64_t channels,
                 const PoolArgs& args) {
  PoolLast<SumOf>(x, out, channels, args);
}

void MaxPool(const float* x, float* out, int64_t* indices,
             const PoolArgs& args) {
  if (indices == nullptr) {
    Pool<MaxOf>(x, out, nullptr, args);
  } else {
    Pool<IndexedMaxOf>(x, out, indices, args);
  }
}

void SumPool(const float* x, float* out, const PoolArgs& args) {
  Pool<SumOf>(x, out, nullptr, args);
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
