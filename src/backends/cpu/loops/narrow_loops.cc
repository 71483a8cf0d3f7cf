// Casts to and from dtypes that are stored narrower than they are computed, and
// selections among such elements.
//
// Not every pair has a loop: pointwise_builder.cc joins what is missing from
// casts by way of the type that one of the two is computed in.
#include <cstdint>

#include "backends/cpu/loops/loops.h"
#include "backends/cpu/loops/loops_isa.h"
#include "backends/cpu/loops/narrow_math.h"

namespace tenon::cpu {
namespace TENON_CPU_ISA {
namespace {

template <typename From, typename To, typename F>
inline __attribute__((always_inline)) void Convert(void* out,
                                                   const void* const* in,
                                                   int64_t count, F f) {
  const From* a = static_cast<const From*>(in[0]);
  To* r = static_cast<To*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = f(a[i]);
}

template <typename Half>
void WidenTile(void* out, const void* const* in, const double*, int64_t count) {
  Convert<Half, float>(out, in, count, [](Half x) { return Widen(x); });
}

void ToBFloat16Tile(void* out, const void* const* in, const double*,
                    int64_t count) {
  Convert<float, BFloat16Bits>(out, in, count,
                               [](float x) { return ToBFloat16(x); });
}

void ToFloat16Tile(void* out, const void* const* in, const double*,
                   int64_t count) {
  Convert<float, Float16Bits>(out, in, count,
                              [](float x) { return ToFloat16(x); });
}

void RoundToBFloat16Tile(void* out, const void* const* in, const double*,
                         int64_t count) {
  Convert<float, float>(out, in, count,
                        [](float x) { return Widen(ToBFloat16(x)); });
}

void RoundToFloat16Tile(void* out, const void* const* in, const double*,
                        int64_t count) {
  Convert<float, float>(out, in, count,
                        [](float x) { return Widen(ToFloat16(x)); });
}

// Integers wrap.
template <typename From, typename To>
void IntegerTile(void* out, const void* const* in, const double*,
                 int64_t count) {
  Convert<From, To>(out, in, count, [](From x) { return static_cast<To>(x); });
}

// By way of int64, whose low bits remain; what it doesn't hold becomes 0, the
// low bits of its smallest.
template <typename To>
void FloatToByteTile(void* out, const void* const* in, const double*,
                     int64_t count) {
  Convert<float, To>(out, in, count, [](float x) {
    const bool fits = x >= -0x1p63f && x < 0x1p63f;
    return static_cast<To>(fits ? static_cast<int64_t>(x) : int64_t{0});
  });
}

template <typename T>
void CopyTile(void* out, const void* const* in, const double*, int64_t count) {
  Convert<T, T>(out, in, count, [](T x) { return x; });
}

template <typename T>
void WhereTile(void* out, const void* const* in, const double*, int64_t count) {
  const uint8_t* c = static_cast<const uint8_t*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  T* r = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) r[i] = c[i] != 0 ? a[i] : b[i];
}

template <typename T>
TileFn FindMove(TileOp op) {
  if (op == TileOp::kCopy) return CopyTile<T>;
  if (op == TileOp::kWhere) return WhereTile<T>;
  return nullptr;
}

template <typename T>
TileFn FindCastFromByte(DType to) {
  if (to == DType::kFloat32) return IntegerTile<T, float>;
  if (to == DType::kInt32) return IntegerTile<T, int32_t>;
  return nullptr;
}

template <typename T>
TileFn FindCastToByte(DType from) {
  if (from == DType::kFloat32) return FloatToByteTile<T>;
  if (from == DType::kInt32) return IntegerTile<int32_t, T>;
  if (from == DType::kInt64) return IntegerTile<int64_t, T>;
  return nullptr;
}

}  // namespace

TileFn FindNarrowTile(TileOp op, DType dtype) {
  switch (dtype) {
    case DType::kBFloat16:
      return op == TileOp::kRounded ? RoundToBFloat16Tile
                                    : FindMove<uint16_t>(op);
    case DType::kFloat16:
      return op == TileOp::kRounded ? RoundToFloat16Tile
                                    : FindMove<uint16_t>(op);
    case DType::kInt8:
    case DType::kUInt8:
      return FindMove<uint8_t>(op);
    default:
      return nullptr;
  }
}

TileFn FindNarrowCast(DType from, DType to) {
  if (from == DType::kInt8) return FindCastFromByte<int8_t>(to);
  if (from == DType::kUInt8) return FindCastFromByte<uint8_t>(to);
  if (to == DType::kInt8) return FindCastToByte<int8_t>(from);
  if (to == DType::kUInt8) return FindCastToByte<uint8_t>(from);
  if (from == DType::kBFloat16 && to == DType::kFloat32) {
    return WidenTile<BFloat16Bits>;
  }
  if (from == DType::kFloat16 && to == DType::kFloat32) {
    return WidenTile<Float16Bits>;
  }
  if (from != DType::kFloat32) return nullptr;
  if (to == DType::kBFloat16) return ToBFloat16Tile;
  if (to == DType::kFloat16) return ToFloat16Tile;
  return nullptr;
}

}  // namespace TENON_CPU_ISA
}  // namespace tenon::cpu
