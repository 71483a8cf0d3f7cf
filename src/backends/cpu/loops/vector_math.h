// Elementary functions without branches, so that loops over them vectorise.
// Relative errors are a few units in the last place unless stated.
//
// Included only by files that are compiled per instruction set.
#pragma once

#include <cmath>
#include <cstdint>

namespace tenon::cpu {
namespace TENON_CPU_ISA {

// 2^n for n in [-126, 127]; F is a float and I an integer of 32 bits, or
// vectors of them.
template <typename F, typename I>
inline __attribute__((always_inline)) F PowerOfTwo(I n) {
  return __builtin_bit_cast(F, (n + 127) << 23);
}

template <typename F, typename I>
inline __attribute__((always_inline)) F ExpOf(F x) {
  const F high = F{} + 88.7228394f;  // above: infinity
  const F low = F{} - 103.972084f;   // below: 0
  F c = x > high ? high : x;
  c = c < low ? low : c;
  // n = round(x / ln 2): adding 1.5 * 2^23 leaves no fraction bits.
  const F shifted = c * 1.44269504f + 12582912.0f;
  const F n = shifted - 12582912.0f;
  const I whole = __builtin_bit_cast(I, shifted) - 0x4b400000;
  const F r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  F p = F{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // In two factors: 2^128 and subnormal powers aren't floats.
  const I half = whole >> 1;
  const F y = p * PowerOfTwo<F>(half) * PowerOfTwo<F>(whole - half);
  return x > high ? F{} + __builtin_inff() : y;
}

inline __attribute__((always_inline)) float Exp(float x) {
  return ExpOf<float, int32_t>(x);
}

inline __attribute__((always_inline)) float Tanh(float x) {
  const float a = __builtin_fabsf(x);
  const float s = x * x;
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const float small = p * s * x + x;
  const float large = 1.0f - 2.0f / (Exp(2.0f * a) + 1.0f);
  return a < 0.625f ? small : __builtin_copysignf(large, x);
}

// For x >= 0, relative error below 1.2e-7 times that of exp; Numerical
// Recipes, section 6.2.
inline __attribute__((always_inline)) float ErfcOfPositive(float x) {
  const float t = 1.0f / (1.0f + 0.5f * x);
  float p = 0.17087277f;
  p = p * t - 0.82215223f;
  p = p * t + 1.48851587f;
  p = p * t - 1.13520398f;
  p = p * t + 0.27886807f;
  p = p * t - 0.18628806f;
  p = p * t + 0.09678418f;
  p = p * t + 0.37409196f;
  p = p * t + 1.00002368f;
  return t * Exp(-x * x - 1.26551223f + t * p);
}

inline __attribute__((always_inline)) float Erf(float x) {
  const float a = __builtin_fabsf(x);
  const float s = x * x;
  float p = -8.5485e-4f;
  p = p * s + 5.2239776e-3f;
  p = p * s - 2.6866171e-2f;
  p = p * s + 1.1283792e-1f;
  p = p * s - 3.7612639e-1f;
  const float small = x * (1.1283791671f + s * p);
  const float large = __builtin_copysignf(1.0f - ErfcOfPositive(a), x);
  return a < 0.5f ? small : large;
}

inline __attribute__((always_inline)) float Gelu(float x) {
  const float tail = 0.5f * ErfcOfPositive(__builtin_fabsf(x) * 0.70710678f);
  // PyTorch doubles before it halves, which the largest numbers don't survive;
  // and its gelu isn't a number at either infinity: infinity times zero.
  const float weight = 2.0f * (x < 0 ? tail : 1.0f - tail);
  return 0.5f * (x * weight) + 0.0f * x;
}

inline __attribute__((always_inline)) float Sigmoid(float x) {
  return 1.0f / (1.0f + Exp(-x));
}

// Doubles go through the C library: they are glue, not the main path.
inline double Exp(double x) { return std::exp(x); }
inline double Tanh(double x) { return std::tanh(x); }
inline double Erf(double x) { return std::erf(x); }
inline double Gelu(double x) {
  return x * 0.5 * std::erfc(-x * 0.70710678118654752440) + 0.0 * x;
}
inline double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
