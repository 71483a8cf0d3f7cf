// From a DType to C++ types.
//
// Kernels compute in one of six types and leave narrower kinds to the loads
// and stores of elements.h, so that each operation is instantiated at most six
// times:
//
//   int64_t                bool, int8..int64, uint8..uint32 (wraps on store)
//   uint64_t               uint64
//   float                  float32, float16, bfloat16, float8 (rounds on store)
//   double                 float64
//   std::complex<float>    complex64, complex32
//   std::complex<double>   complex128
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "ir/kinds.h"
#include "kernels/float16.h"

namespace tenon {

template <typename T>
struct TypeTag {
  using type = T;
};

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <typename T>
inline constexpr bool kIsInteger = std::is_integral_v<T>;
template <typename T>
inline constexpr bool kIsReal = std::is_floating_point_v<T>;

// `f(TypeTag<C>())` with the type that `dtype` is computed in; its result.
// kUnknown counts as int64.
template <typename F>
auto DispatchCompute(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2FNUZ:
    case DType::kFloat8E8M0FNU:
      return f(TypeTag<float>());
    case DType::kFloat64:
      return f(TypeTag<double>());
    case DType::kComplex32:
    case DType::kComplex64:
      return f(TypeTag<std::complex<float>>());
    case DType::kComplex128:
      return f(TypeTag<std::complex<double>>());
    case DType::kUInt64:
      return f(TypeTag<uint64_t>());
    case DType::kUnknown:
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kBool:
    case DType::kUInt16:
    case DType::kUInt32:
      break;
  }
  return f(TypeTag<int64_t>());
}

// The same for kinds known to be floating: float or double.
template <typename F>
auto DispatchReal(DType dtype, F&& f) {
  if (dtype == DType::kFloat64) return f(TypeTag<double>());
  return f(TypeTag<float>());
}

// The same for floating or complex kinds.
template <typename F>
auto DispatchFloating(DType dtype, F&& f) {
  if (dtype == DType::kComplex128) return f(TypeTag<std::complex<double>>());
  if (IsComplex(dtype)) return f(TypeTag<std::complex<float>>());
  return DispatchReal(dtype, f);
}

// `f(TypeTag<S>())` with the type whose object representation the elements
// have: bool is uint8_t, complex32 a pair of Float16.
struct Complex32 {
  Float16 real, imag;
};
template <typename F>
auto DispatchStorage(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kInt8:
      return f(TypeTag<int8_t>());
    case DType::kInt16:
      return f(TypeTag<int16_t>());
    case DType::kInt32:
      return f(TypeTag<int32_t>());
    case DType::kInt64:
      return f(TypeTag<int64_t>());
    case DType::kUInt16:
      return f(TypeTag<uint16_t>());
    case DType::kUInt32:
      return f(TypeTag<uint32_t>());
    case DType::kUInt64:
      return f(TypeTag<uint64_t>());
    case DType::kFloat16:
      return f(TypeTag<Float16>());
    case DType::kBFloat16:
      return f(TypeTag<BFloat16>());
    case DType::kFloat32:
      return f(TypeTag<float>());
    case DType::kFloat64:
      return f(TypeTag<double>());
    case DType::kComplex32:
      return f(TypeTag<Complex32>());
    case DType::kComplex64:
      return f(TypeTag<std::complex<float>>());
    case DType::kComplex128:
      return f(TypeTag<std::complex<double>>());
    case DType::kFloat8E4M3FN:
      return f(TypeTag<Float8E4M3FN>());
    case DType::kFloat8E5M2:
      return f(TypeTag<Float8E5M2>());
    case DType::kFloat8E4M3FNUZ:
      return f(TypeTag<Float8E4M3FNUZ>());
    case DType::kFloat8E5M2FNUZ:
      return f(TypeTag<Float8E5M2FNUZ>());
    case DType::kFloat8E8M0FNU:
      return f(TypeTag<Float8E8M0FNU>());
    case DType::kUnknown:
    case DType::kUInt8:
    case DType::kBool:
      break;
  }
  return f(TypeTag<uint8_t>());
}

}  // namespace tenon
