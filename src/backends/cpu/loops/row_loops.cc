// Loops along and across rows: reductions, softmax, layer norm.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/vector_math.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

// Independent partial results, so that a reduction over a row vectorises
// without reassociating what was written.
constexpr int kLanes = 32;

struct Sum {
  static constexpr float kStart = 0;
  static float Step(float r, float x) { return r + x; }
  static float Join(float a, float b) { return a + b; }
};
struct SumOfSquares {
  static constexpr float kStart = 0;
  static float Step(float r, float x) { return r + x * x; }
  static float Join(float a, float b) { return a + b; }
};
struct Max {
  static constexpr float kStart = -__builtin_inff();
  // NaN wins, and stays.
  static float Step(float r, float x) { return r != r || r > x ? r : x; }
  static float Join(float a, float b) { return Step(a, b); }
};
struct Min {
  static constexpr float kStart = __builtin_inff();
  static float Step(float r, float x) { return r != r || r < x ? r : x; }
  static float Join(float a, float b) { return Step(a, b); }
};

template <typename Op>
inline __attribute__((always_inline)) float ReduceRow(const float* x,
                                                      int64_t size) {
  float lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = Op::kStart;
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] = Op::Step(lanes[l], x[i + l]);
  }
  for (int l = 0; i < size; ++i, ++l) lanes[l] = Op::Step(lanes[l], x[i]);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) {
      lanes[l] = Op::Join(lanes[l], lanes[l + half]);
    }
  }
  return lanes[0];
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
  for (int64_t i = 0; i < size; ++i) out[i] = Exp(x[i] - shift);
  return ReduceRow<Sum>(out, size);
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
    const float shift = top + __builtin_logf(ExpRow(row, to, top, args.size));
    for (int64_t j = 0; j < args.size; ++j) to[j] = row[j] - shift;
  }
}

void LayerNorm(const float* x, float* out, const NormArgs& args) {
  const int64_t size = args.size;
  const float count = static_cast<float>(size);
  for (int64_t i = 0; i < args.rows; ++i) {
    const float* row = x + i * args.x_step;
    float* to = out + i * size;
    const float mean = ReduceRow<Sum>(row, size) / count;
    for (int64_t j = 0; j < size; ++j) to[j] = row[j] - mean;
    const float variance = ReduceRow<SumOfSquares>(to, size) / count;
    const float scale =
        1.0f / __builtin_sqrtf(variance + static_cast<float>(args.eps));
    if (args.mean != nullptr) args.mean[i] = mean;
    if (args.inverse_deviation != nullptr) args.inverse_deviation[i] = scale;
    const float* weight = args.weight;
    const float* bias = args.bias;
    if (weight != nullptr && bias != nullptr) {
      for (int64_t j = 0; j < size; ++j) {
        to[j] = to[j] * scale * weight[j] + bias[j];
      }
    } else if (weight != nullptr) {
      for (int64_t j = 0; j < size; ++j) to[j] = to[j] * scale * weight[j];
    } else if (bias != nullptr) {
      for (int64_t j = 0; j < size; ++j) to[j] = to[j] * scale + bias[j];
    } else {
      for (int64_t j = 0; j < size; ++j) to[j] *= scale;
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
