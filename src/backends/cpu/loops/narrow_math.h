// bfloat16 and float16 to and from float, without branches, so that loops over
// them vectorise. Bit for bit what kernels/float16.h gives.
//
// Included only by files that are compiled per instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu {
namespace TENON_CPU_ISA {

struct BFloat16Bits {
  uint16_t bits;
};
struct Float16Bits {
  uint16_t bits;
};

inline __attribute__((always_inline)) float Widen(BFloat16Bits x) {
  return __builtin_bit_cast(float, uint32_t{x.bits} << 16);
}

inline __attribute__((always_inline)) float Widen(Float16Bits x) {
  const uint32_t sign = (uint32_t{x.bits} & 0x8000u) << 16;
  const uint32_t magnitude = (uint32_t{x.bits} & 0x7fffu) << 13;
  // The exponent's bias goes from 15 to 127; subnormals become normal.
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;
  const uint32_t finite = __builtin_bit_cast(uint32_t, scaled);
  return __builtin_bit_cast(
      float,
      sign | (magnitude >= 0x7c00u << 13 ? magnitude | 0x7f800000u : finite));
}

inline __attribute__((always_inline)) BFloat16Bits ToBFloat16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u
                                                                   : rounded)};
}

inline __attribute__((always_inline)) Float16Bits ToFloat16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // A carry out of the mantissa lands in the exponent, at last in infinity's.
  const uint32_t normal =
      (magnitude + 0xfffu + (magnitude >> 13 & 1u) - (112u << 23)) >> 13;
  // In [0.5, 1) a unit in the last place is float16's smallest subnormal.
  const uint32_t subnormal =
      __builtin_bit_cast(uint32_t,
                         __builtin_bit_cast(float, magnitude) + 0.5f) -
      0x3f000000u;
  const uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t small = magnitude < 113u << 23 ? subnormal : normal;
  return {
      static_cast<uint16_t>(sign | (magnitude >= 143u << 23 ? large : small))};
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
