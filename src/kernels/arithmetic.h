// Arithmetic on elements as PyTorch defines it: integers wrap instead of
// overflowing, divisions round as their names say. Integers are int64_t or
// uint64_t whatever the tensor's dtype; the store cuts them to size.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "kernels/dispatch.h"

namespace tenon {

template <typename T>
T Add(T a, T b) {
  if constexpr (kIsInteger<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <typename T>
T Sub(T a, T b) {
  if constexpr (kIsInteger<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
}

template <typename T>
T Mul(T a, T b) {
  if constexpr (kIsInteger<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else if constexpr (kIsComplex<T>) {
    // The plain formula, without C's recovery of infinities.
    return T(a.real() * b.real() - a.imag() * b.imag(),
             a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}

template <typename T>
bool IsNan(T value) {
  if constexpr (kIsComplex<T>) {
    return std::isnan(value.real()) || std::isnan(value.imag());
  } else if constexpr (kIsReal<T>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

// Quotients of integers; b isn't 0. The smallest integer divided by -1 wraps.
template <typename T>
T DivTrunc(T a, T b) {
  if constexpr (kIsReal<T>) {
    return std::trunc(a / b);
  } else {
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub(T(0), a);
    return a / b;
  }
}

template <typename T>
T Fmod(T a, T b) {
  if constexpr (kIsReal<T>) {
    return std::fmod(a, b);
  } else {
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T(0);
    return a % b;
  }
}

// The remainder with the divisor's sign.
template <typename T>
T Remainder(T a, T b) {
  T rest = Fmod(a, b);
  if constexpr (std::is_signed_v<T>) {
    if (rest != 0 && (b < 0) != (rest < 0)) rest += b;
  }
  return rest;
}

// Python's a // b. For floats not floor(a / b): the quotient is corrected by
// the remainder, so that 1.0 // 0.1 is 9.
template <typename T>
T DivFloor(T a, T b) {
  if constexpr (kIsInteger<T>) {
    const T quotient = DivTrunc(a, b);
    if constexpr (std::is_signed_v<T>) {
      if (Fmod(a, b) != 0 && (a < 0) != (b < 0)) return quotient - 1;
    }
    return quotient;
  } else {
    if (b == 0) return a / b;
    const T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= T(1);
    if (quotient == 0) return std::copysign(T(0), a / b);
    const T floored = std::floor(quotient);
    return quotient - floored > T(0.5) ? floored + T(1) : floored;
  }
}

// Integer powers wrap; a negative exponent leaves only powers of 1 and -1.
template <typename T>
T Pow(T base, T exponent) {
  if constexpr (!kIsInteger<T>) {
    return std::pow(base, exponent);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (exponent < 0) {
        if (base == 1) return 1;
        if (base != -1) return 0;
        return exponent % 2 == 0 ? 1 : -1;
      }
    }
    T result = 1;
    for (; exponent != 0; exponent /= 2) {
      if (exponent % 2 != 0) result = Mul(result, base);
      base = Mul(base, base);
    }
    return result;
  }
}

// nan wins from either side.
template <typename T>
T Maximum(T a, T b) {
  if (IsNan(a)) return a;
  if (IsNan(b)) return b;
  return a < b ? b : a;
}

template <typename T>
T Minimum(T a, T b) {
  if (IsNan(a)) return a;
  if (IsNan(b)) return b;
  return b < a ? b : a;
}

template <typename T>
T Sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

}  // namespace tenon
