// Loops along and across rows: reductions, softmax, layer norm.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/vector_math.h"
#include "backends/cpu/loops/vectors.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

// Steps take a float, or a vector of independent partial results.
struct Sum {
  static constexpr float kStart = 0;
  template <typename V>
  static V Step(V r, V x) {
    return r + x;
  }
  template <typename V>
  static V Join(V a, V b) {
    return a + b;
  }
};
struct SumOfSquares : Sum {
  template <typename V>
  static V Step(V r, V x) {
    return r + x * x;
  }
};
struct Max {
  static constexpr float kStart = -__builtin_inff();
  // NaN wins, and stays.
  template <typename V>
  static V Step(V r, V x) {
    return ((r != r) | (r > x)) ? r : x;
  }
  template <typename V>
  static V Join(V a, V b) {
    return Step(a, b);
  }
};
struct Min {
  static constexpr float kStart = __builtin_inff();
  template <typename V>
  static V Step(V r, V x) {
    return ((r != r) | (r < x)) ? r : x;
  }
  template <typename V>
  static V Join(V a, V b) {
    return Step(a, b);
  }
};

template <typename Op>
inline __attribute__((always_inline)) float JoinLanes(const Vector& lanes) {
  const Quad q = Fold(lanes, [](Quad a, Quad b) { return Op::Join(a, b); });
  return Op::Join(Op::Join(q[0], q[1]), Op::Join(q[2], q[3]));
}

// Reduces `load(i)`, a vector at i, over a row; `load_one(i)` is one element.
template <typename Op, typename F, typename G>
inline __attribute__((always_inline)) float Reduce(int64_t size, F load,
                                                   G load_one) {
  Vector lanes[4];
  for (Vector& v : lanes) v = Vector{} + Op::kStart;
  int64_t i = 0;
  for (; i + 4 * kLanes <= size; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      lanes[v] = Op::Step(lanes[v], load(i + v * kLanes));
    }
  }
  for (; i + kLanes <= size; i += kLanes)
    lanes[0] = Op::Step(lanes[0], load(i));
  float rest = Op::kStart;
  for (; i < size; ++i) rest = Op::Step(rest, load_one(i));
  return Op::Join(rest, JoinLanes<Op>(Op::Join(Op::Join(lanes[0], lanes[1]),
                                               Op::Join(lanes[2], lanes[3]))));
}

template <typename Op>
inline __attribute__((always_inline)) float ReduceRow(const float* x,
                                                      int64_t size) {
  return Reduce<Op>(
      size, [=](int64_t i) { return Load<Vector>(x + i); },
      [=](int64_t i) { return x[i]; });
}

template <typename Op>
void ReduceEachRow(const float* x, float* out, const RowArgs& args) {
  for (int64_t i = 0; i < args.rows; ++i) {
    out[i] = ReduceRow<Op>(x + i * args.x_step, args.size);
  }
}

// out = exp(x - shift); gives the sum.
inline __attribute__((always_inline)) float ExpRow(const float* x, float* out,
                                                   float shift, int64_t size) {
  const auto exp = [=](Vector v) {
    return ExpOf<Vector, IntVector>(v - shift);
  };
  Vector sums{};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Vector y = exp(Load<Vector>(x + i));
    Store(out + i, y);
    sums += y;
  }
  float sum = JoinLanes<Sum>(sums);
  if (i == size) return sum;
  float rest[kLanes] = {};
  for (int64_t j = i; j < size; ++j) rest[j - i] = x[j];
  Store(rest, exp(Load<Vector>(rest)));
  for (int64_t j = i; j < size; ++j) sum += out[j] = rest[j - i];
  return sum;
}

}  // namespace

void ReduceRows(Reduction reduction, const float* x, float* out,
                const RowArgs& args) {
  switch (reduction) {
    case Reduction::kSum:
      return ReduceEachRow<Sum>(x, out, args);
    case Reduction::kMax:
      return ReduceEachRow<Max>(x, out, args);
    case Reduction::kMin:
      return ReduceEachRow<Min>(x, out, args);
  }
}

void Softmax(const float* x, float* out, const RowArgs& args) {
  for (int64_t i = 0; i < args.rows; ++i) {
    const float* row = x + i * args.x_step;
    float* to = out + i * args.size;
    const float top = ReduceRow<Max>(row, args.size);
    const float scale = 1.0f / ExpRow(row, to, top, args.size);
    for (int64_t j = 0; j < args.size; ++j) to[j] *= scale;
  }
}

void LogSoftmax(const float* x, float* out, const RowArgs& args) {
  for (int64_t i = 0; i < args.rows; ++i) {
    const float* row = x + i * args.x_step;
    float* to = out + i * args.size;
    const float top = ReduceRow<Max>(row, args.size);
    const float rest = __builtin_logf(ExpRow(row, to, top, args.size));
    // In this order: the sum of the two would round where x is large.
    for (int64_t j = 0; j < args.size; ++j) to[j] = row[j] - top - rest;
  }
}

void LayerNorm(const float* x, float* out, const NormArgs& args) {
  const int64_t size = args.size;
  const float count = static_cast<float>(size);
  for (int64_t i = 0; i < args.rows; ++i) {
    const float* row = x + i * args.x_step;
    float* to = out + i * size;
    float mean = ReduceRow<Sum>(row, size) / count;
    // PyTorch's running mean isn't a number once it has passed an infinity.
    if (size > 1 && __builtin_fabsf(mean) == __builtin_inff()) {
      mean = __builtin_nanf("");
    }
    const float variance =
        Reduce<SumOfSquares>(
            size, [=](int64_t j) { return Load<Vector>(row + j) - mean; },
            [=](int64_t j) { return row[j] - mean; }) /
        count;
    const float scale =
        1.0f / __builtin_sqrtf(variance + static_cast<float>(args.eps));
    if (args.mean != nullptr) args.mean[i] = mean;
    if (args.inverse_deviation != nullptr) args.inverse_deviation[i] = scale;
    const float* weight = args.weight;
    const float* bias = args.bias;
    if (weight != nullptr && bias != nullptr) {
      for (int64_t j = 0; j < size; ++j) {
        to[j] = (row[j] - mean) * scale * weight[j] + bias[j];
      }
    } else if (weight != nullptr) {
      for (int64_t j = 0; j < size; ++j)
        to[j] = (row[j] - mean) * scale * weight[j];
    } else if (bias != nullptr) {
      for (int64_t j = 0; j < size; ++j)
        to[j] = (row[j] - mean) * scale + bias[j];
    } else {
      for (int64_t j = 0; j < size; ++j) to[j] = (row[j] - mean) * scale;
    }
  }
}

void RmsNorm(const float* x, float* out, const NormArgs& args) {
  const int64_t size = args.size;
  for (int64_t i = 0; i < args.rows; ++i) {
    const float* row = x + i * args.x_step;
    float* to = out + i * size;
    const float square =
        ReduceRow<SumOfSquares>(row, size) / static_cast<float>(size);
    const float scale =
        1.0f / __builtin_sqrtf(square + static_cast<float>(args.eps));
    if (args.weight != nullptr) {
      for (int64_t j = 0; j < size; ++j) {
        to[j] = row[j] * scale * args.weight[j];
      }
    } else {
      for (int64_t j = 0; j < size; ++j) to[j] = row[j] * scale;
    }
  }
}

void AttentionRow(float* scores, const float* mask, float scale, int64_t size) {
  if (mask != nullptr) {
    for (int64_t j = 0; j < size; ++j) scores[j] = scores[j] * scale + mask[j];
  } else {
    for (int64_t j = 0; j < size; ++j) scores[j] *= scale;
  }
  const float top = ReduceRow<Max>(scores, size);
  if (top == -__builtin_inff()) {
    for (int64_t j = 0; j < size; ++j) scores[j] = 0;
    return;
  }
  const float inverse = 1.0f / ExpRow(scores, scores, top, size);
  for (int64_t j = 0; j < size; ++j) scores[j] *= inverse;
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
