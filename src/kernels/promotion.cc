#include "kernels/promotion.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elements.h"

namespace tenon {
namespace {

bool IsFloat8(DType dtype) {
  return IsFloating(dtype) && SizeBytes(dtype) == 1;
}

// uint16 and wider came late to PyTorch and promote with almost nothing.
bool IsBareUnsigned(DType dtype) {
  return dtype == DType::kUInt16 || dtype == DType::kUInt32 ||
         dtype == DType::kUInt64;
}

int Category(DType dtype) {
  if (IsComplex(dtype)) return 3;
  if (IsFloating(dtype)) return 2;
  return dtype == DType::kBool ? 0 : 1;
}

DType PromoteReals(DType a, DType b) {
  if (a == b) return a;
  if (SizeBytes(a) != SizeBytes(b)) return SizeBytes(a) > SizeBytes(b) ? a : b;
  return DType::kFloat32;  // float16 with bfloat16
}

DType PromoteIntegers(DType a, DType b) {
  if (IsBareUnsigned(a) || IsBareUnsigned(b)) return DType::kUnknown;
  if (SizeBytes(a) != SizeBytes(b)) return SizeBytes(a) > SizeBytes(b) ? a : b;
  return DType::kInt16;  // uint8 with int8
}

// The higher category as it is, widened to complex where the lower one asks.
DType CombineCategories(DType higher, DType lower) {
  if (higher == DType::kUnknown) return lower;
  if (lower == DType::kUnknown || IsComplex(higher)) return higher;
  if (IsFloating(higher)) {
    return IsComplex(lower) ? ComplexDType(higher) : higher;
  }
  if (higher == DType::kBool || IsFloating(lower) || IsComplex(lower)) {
    return PromoteTypes(higher, lower);
  }
  return higher;
}

double LargestFinite(DType dtype) {
  switch (RealDType(dtype)) {
    case DType::kFloat16:
      return 65504.0;
    case DType::kBFloat16:
      return 0x1.fep127;
    case DType::kFloat8E4M3FN:
      return 448.0;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      return 57344.0;
    case DType::kFloat8E4M3FNUZ:
      return 240.0;
    case DType::kFloat8E8M0FNU:
      return 0x1p127;
    case DType::kFloat32:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

DType NumberDType(DType dtype) {
  if (IsComplex(dtype)) return DType::kComplex64;
  return IsFloating(dtype) ? DType::kFloat32 : dtype;
}

}  // namespace

Operand OperandOf(const KernelCall& call, size_t arg) {
  const RuntimeValue& value = call.arg(arg);
  if (value.is_tensor()) return {value.tensor(), call.is_number(arg)};
  return {ScalarTensor(value), true};
}

DType PromoteTypes(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kUnknown || b == DType::kUnknown) return DType::kUnknown;
  if (IsFloat8(a) || IsFloat8(b)) return DType::kUnknown;
  if (Category(a) < Category(b)) std::swap(a, b);
  switch (Category(a)) {
    case 3:
      if (Category(b) < 2) return a;
      return ComplexDType(PromoteReals(RealDType(a), RealDType(b)));
    case 2:
      return Category(b) == 2 ? PromoteReals(a, b) : a;
    case 1:
      return Category(b) == 1 ? PromoteIntegers(a, b) : a;
  }
  return a;
}

DType ResultType(std::span<const Operand> operands) {
  DType ranks[3] = {DType::kUnknown, DType::kUnknown, DType::kUnknown};
  for (const Operand& operand : operands) {
    DType dtype = operand.tensor.dtype();
    size_t rank = 0;
    if (operand.is_number) {
      dtype = NumberDType(dtype);
      rank = 2;
    } else if (operand.tensor.dim() == 0) {
      rank = 1;
    }
    if (ranks[rank] == DType::kUnknown) {
      ranks[rank] = dtype;
    } else {
      ranks[rank] = PromoteTypes(ranks[rank], dtype);
      if (ranks[rank] == DType::kUnknown) return DType::kUnknown;
    }
  }
  return CombineCategories(ranks[0], CombineCategories(ranks[1], ranks[2]));
}

DType RealDType(DType dtype) {
  if (dtype == DType::kComplex32) return DType::kFloat16;
  if (dtype == DType::kComplex64) return DType::kFloat32;
  if (dtype == DType::kComplex128) return DType::kFloat64;
  return dtype;
}

DType ComplexDType(DType dtype) {
  if (dtype == DType::kFloat64 || dtype == DType::kComplex128) {
    return DType::kComplex128;
  }
  if (dtype == DType::kFloat16 || dtype == DType::kComplex32) {
    return DType::kComplex32;
  }
  return DType::kComplex64;
}

DType IntToFloat(DType dtype) {
  return IsFloating(dtype) || IsComplex(dtype) ? dtype : DType::kFloat32;
}

bool CanCast(DType from, DType to) {
  if (Category(from) == 3 && Category(to) != 3) return false;
  if (Category(from) == 2 && Category(to) < 2) return false;
  return from == DType::kBool || to != DType::kBool;
}

bool CheckFits(KernelCall& call, const RuntimeValue& scalar, DType dtype) {
  const auto fail = [&] {
    return call.Fail("the value doesn't fit " + std::string(Name(dtype)));
  };
  if (scalar.is_complex() && !IsComplex(dtype)) return fail();
  if (dtype == DType::kBool || scalar.is_bool() || scalar.is_complex()) {
    return true;
  }
  if (!IsIntegral(dtype)) {
    const double value = ScalarAs<double>(scalar);
    return !std::isfinite(value) || std::abs(value) <= LargestFinite(dtype) ||
           fail();
  }
  const int bits = static_cast<int>(SizeBytes(dtype)) * 8;
  const double limit = std::ldexp(1.0, IsSigned(dtype) ? bits - 1 : bits);
  const double value = std::trunc(ScalarAs<double>(scalar));
  // An int is compared in double only where 64 bits don't limit it.
  if (scalar.is_int() && bits == 64) return true;
  const bool above_low = IsSigned(dtype) ? value >= -limit : value > -limit;
  return (above_low && value < limit) || fail();
}

}  // namespace tenon
