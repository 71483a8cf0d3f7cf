#include "analysis/promote.h"

#include <algorithm>
#include <utility>

namespace tenon {
namespace {

bool IsFloat8(DType d) { return IsFloating(d) && SizeBytes(d) == 1; }

bool IsWideUnsigned(DType d) {
  return d == DType::kUInt16 || d == DType::kUInt32 || d == DType::kUInt64;
}

// Which one goes with bfloat16 depends on PyTorch's release.
DType ComplexFor(DType real) {
  switch (real) {
    case DType::kFloat16:
      return DType::kComplex32;
    case DType::kFloat64:
      return DType::kComplex128;
    case DType::kFloat32:
      return DType::kComplex64;
    default:
      return DType::kUnknown;
  }
}

DType PromoteIntegers(DType a, DType b) {
  const DType larger = SizeBytes(a) > SizeBytes(b) ? a : b;
  if (a != DType::kUInt8 && b != DType::kUInt8) return larger;
  return SizeBytes(larger) == 1 ? DType::kInt16 : larger;  // u8 with i8
}

DType PromoteReals(DType a, DType b) {
  if (SizeBytes(a) == SizeBytes(b)) return DType::kFloat32;  // f16 with bf16
  return SizeBytes(a) > SizeBytes(b) ? a : b;
}

}  // namespace

DType PromoteDTypes(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kUnknown || b == DType::kUnknown) return DType::kUnknown;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if (IsFloat8(a) || IsFloat8(b)) return DType::kUnknown;
  if (IsIntegral(a) && IsIntegral(b)) {
    if (IsWideUnsigned(a) || IsWideUnsigned(b)) return DType::kUnknown;
    return PromoteIntegers(a, b);
  }
  if (IsIntegral(a)) return b;
  if (IsIntegral(b)) return a;
  if (IsComplex(a) || IsComplex(b)) {
    const DType x = IsComplex(a) ? a : ComplexFor(a);
    const DType y = IsComplex(b) ? b : ComplexFor(b);
    // Whatever goes with bfloat16, it has no more precision than these.
    const bool has_bfloat16 = a == DType::kBFloat16 || b == DType::kBFloat16;
    const DType complex = IsComplex(a) ? a : b;
    if (has_bfloat16 && complex != DType::kComplex32) return complex;
    if (x == DType::kUnknown || y == DType::kUnknown) return DType::kUnknown;
    return SizeBytes(x) > SizeBytes(y) ? x : y;
  }
  return PromoteReals(a, b);
}

void Promotion::Merge(Rank* rank, DType dtype) {
  rank->dtype = rank->is_set ? PromoteDTypes(rank->dtype, dtype) : dtype;
  rank->is_set = true;
}

Promotion::Rank Promotion::Combine(Rank higher, Rank lower) {
  if (!higher.is_set) return lower;
  if (!lower.is_set) return higher;
  if (higher.dtype == kNothing || lower.dtype == kNothing) {
    return {kNothing, true};
  }
  const DType h = higher.dtype, l = lower.dtype;
  if (IsComplex(h)) return higher;
  if (IsFloating(h)) {
    return IsComplex(l) ? Rank{ComplexFor(h), true} : higher;
  }
  if (h == DType::kBool || IsFloating(l) || IsComplex(l)) {
    return {PromoteDTypes(h, l), true};
  }
  return higher;
}

DType Promotion::Result() const {
  return Combine(dimensioned_, Combine(zero_dim_, number_)).dtype;
}

DType ToFloating(DType dtype) {
  if (dtype == DType::kBool || IsIntegral(dtype)) return DType::kFloat32;
  return dtype;
}

DType ToComplex(DType dtype) {
  return IsComplex(dtype) ? dtype : ComplexFor(dtype);
}

DType ToReal(DType dtype) {
  switch (dtype) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kFloat64;
    default:
      return dtype;
  }
}

}  // namespace tenon
