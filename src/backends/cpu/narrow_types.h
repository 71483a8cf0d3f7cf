// Dtypes that are stored narrower than they are computed.
//
// bfloat16 and float16 compute in float32, int8 and uint8 in int32. An operator
// rounds (or wraps) once, where its result is stored: so does PyTorch.
#pragma once

#include "ir/kinds.h"

namespace tenon::cpu {

constexpr bool IsHalf(DType dtype) {
  return dtype == DType::kBFloat16 || dtype == DType::kFloat16;
}

constexpr bool IsByteInteger(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUInt8;
}

constexpr bool IsNarrow(DType dtype) {
  return IsHalf(dtype) || IsByteInteger(dtype);
}

// The dtype itself if it isn't narrow.
constexpr DType ComputedAs(DType dtype) {
  if (IsHalf(dtype)) return DType::kFloat32;
  if (IsByteInteger(dtype)) return DType::kInt32;
  return dtype;
}

}  // namespace tenon::cpu
