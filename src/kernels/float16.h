// Numbers narrower than float: float16, bfloat16 and the float8 kinds.
//
// Each is a struct of its bits that converts to and from float. Arithmetic
// happens in float; converting back rounds to nearest, ties to even.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tenon {

// Rounds `value` to a format of 1 sign bit, `exponent_bits` and
// `mantissa_bits`, as IEEE 754 would; overflow goes to the pattern of
// infinity (all exponent bits set, mantissa 0). `value` isn't nan.
constexpr uint32_t RoundToBits(float value, int exponent_bits,
                               int mantissa_bits, int bias) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 31 << (exponent_bits + mantissa_bits);
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127;
  uint32_t mantissa = bits & 0x7fffff;
  if (exponent == 128) return sign | infinity;
  if ((bits & 0x7fffffff) == 0) return sign;
  // Float subnormals are zero in every narrower format but bfloat16, which
  // doesn't come here.
  if (exponent == -127) return sign;
  mantissa |= 0x800000;
  // `shift` mantissa bits are dropped: more when the result is subnormal.
  int shift = 23 - mantissa_bits;
  int biased = exponent + bias;
  if (biased < 1) {
    shift += 1 - biased;
    biased = 0;
  }
  if (shift > 25) return sign;
  const uint32_t half = 1u << (shift - 1);
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  uint32_t kept = mantissa >> shift;
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // Normal: the implicit bit adds 1 to the exponent below it. A carry out of
  // the mantissa lands in the exponent by itself.
  const uint32_t magnitude =
      biased == 0 ? kept
                  : (static_cast<uint32_t>(biased - 1) << mantissa_bits) + kept;
  return sign | (magnitude >= infinity ? infinity : magnitude);
}

// The float that finite bits of such a format stand for.
constexpr float FromFiniteBits(uint32_t bits, int exponent_bits,
                               int mantissa_bits, int bias) {
  const uint32_t sign = bits >> (exponent_bits + mantissa_bits) & 1;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent =
      static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  float scale = 1.0f;
  int power = (exponent == 0 ? 1 : exponent) - bias - mantissa_bits;
  for (; power > 0; --power) scale *= 2.0f;
  for (; power < 0; ++power) scale *= 0.5f;
  const uint32_t integer =
      exponent == 0 ? mantissa : mantissa | 1u << mantissa_bits;
  const float magnitude = static_cast<float>(integer) * scale;
  return sign != 0 ? -magnitude : magnitude;
}

struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value)
      : bits(static_cast<uint16_t>(
            std::isnan(value)
                ? 0x7e00u | (std::bit_cast<uint32_t>(value) >> 16 & 0x8000u)
                : RoundToBits(value, 5, 10, 15))) {}
  explicit operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t exponent = bits >> 10 & 0x1f;
    const uint32_t mantissa = bits & 0x3ff;
    if (exponent == 0x1f) {
      return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    }
    if (exponent == 0) {
      const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
      return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  }
};

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const uint32_t wide = std::bit_cast<uint32_t>(value);
    bits =
        std::isnan(value)
            ? uint16_t{0x7fc0}
            : static_cast<uint16_t>((wide + 0x7fffu + (wide >> 16 & 1)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

// No infinity; 0x7f and 0xff are nan. Out of range saturates at 448.
struct Float8E4M3FN {
  uint8_t bits = 0;

  Float8E4M3FN() = default;
  explicit Float8E4M3FN(float value) {
    const uint32_t sign = std::bit_cast<uint32_t>(value) >> 24 & 0x80u;
    // With a wider exponent the topmost binade is an ordinary one.
    const uint32_t magnitude =
        std::isnan(value)
            ? 0x7fu
            : std::min(RoundToBits(std::abs(value), 5, 3, 7), 0x7eu);
    bits = static_cast<uint8_t>(sign | magnitude);
  }
  explicit operator float() const {
    if ((bits & 0x7f) == 0x7f) return std::nanf("");
    return FromFiniteBits(bits, 4, 3, 7);
  }
};

struct Float8E5M2 {
  uint8_t bits = 0;

  Float8E5M2() = default;
  explicit Float8E5M2(float value)
      : bits(static_cast<uint8_t>(
            std::isnan(value)
                ? 0x7fu | (std::bit_cast<uint32_t>(value) >> 24 & 0x80u)
                : RoundToBits(value, 5, 2, 15))) {}
  explicit operator float() const {
    if ((bits & 0x7c) != 0x7c) return FromFiniteBits(bits, 5, 2, 15);
    if ((bits & 3) != 0) return std::nanf("");
    return (bits & 0x80) != 0 ? -INFINITY : INFINITY;
  }
};

// The "fnuz" kinds have no infinity and no negative zero; 0x80 is nan, and so
// is everything out of range. The exponent bias is one larger.
struct Float8E4M3FNUZ {
  uint8_t bits = 0;

  Float8E4M3FNUZ() = default;
  explicit Float8E4M3FNUZ(float value);
  explicit operator float() const {
    if (bits == 0x80) return std::nanf("");
    return FromFiniteBits(bits, 4, 3, 8);
  }
};

struct Float8E5M2FNUZ {
  uint8_t bits = 0;

  Float8E5M2FNUZ() = default;
  explicit Float8E5M2FNUZ(float value);
  explicit operator float() const {
    if (bits == 0x80) return std::nanf("");
    return FromFiniteBits(bits, 5, 2, 16);
  }
};

// A bare exponent: 2^(bits - 127); 255 is nan.
struct Float8E8M0FNU {
  uint8_t bits = 0;

  Float8E8M0FNU() = default;
  explicit Float8E8M0FNU(float value);
  explicit operator float() const {
    if (bits == 0xff) return std::nanf("");
    return std::ldexp(1.0f, static_cast<int>(bits) - 127);
  }
};

// As above, a wider exponent makes the topmost binade an ordinary one.
inline uint8_t RoundToFnuz(float value, int exponent_bits, int mantissa_bits,
                           int bias) {
  if (std::isnan(value) || std::isinf(value)) return 0x80;
  const uint32_t wide =
      RoundToBits(std::abs(value), exponent_bits + 1, mantissa_bits, bias);
  if (wide >= 0x80) return 0x80;
  if (wide == 0) return 0;
  return static_cast<uint8_t>(wide | (std::signbit(value) ? 0x80u : 0u));
}
inline Float8E4M3FNUZ::Float8E4M3FNUZ(float value)
    : bits(RoundToFnuz(value, 4, 3, 8)) {}
inline Float8E5M2FNUZ::Float8E5M2FNUZ(float value)
    : bits(RoundToFnuz(value, 5, 2, 16)) {}

inline Float8E8M0FNU::Float8E8M0FNU(float value) {
  const uint32_t wide = std::bit_cast<uint32_t>(value);
  uint32_t exponent = wide >> 23 & 0xff;
  // Nearest power of two, ties up; among subnormals ties go down.
  if (exponent != 0xff && (wide & 0x400000) != 0 &&
      ((wide & 0x3fffff) != 0 || exponent > 0)) {
    ++exponent;
  }
  bits = static_cast<uint8_t>(exponent);
}

}  // namespace tenon
