// PyTorch's type promotion.
#pragma once

#include "ir/kinds.h"

namespace tenon {

// torch.promote_types; kUnknown where PyTorch has no answer (float8, unsigned
// integers beyond uint8) or an operand is unknown.
DType PromoteDTypes(DType a, DType b);

// The dtype of an operation over several operands. Operands rank by what they
// are: tensors with dimensions, 0-d tensors, Python numbers; a lower rank
// counts only if its category (bool < int < float < complex) is higher.
class Promotion {
 public:
  void AddTensor(DType dtype, bool has_dimensions) {
    Merge(has_dimensions ? &dimensioned_ : &zero_dim_, dtype);
  }
  // A Python number, by its category: kBool, kInt64, kFloat32 or kComplex64.
  void AddNumber(DType category) { Merge(&number_, category); }

  // kUnknown when it can't be told.
  DType Result() const;
  // Whether the result is floating only by a Python number: then it is
  // PyTorch's default dtype, given as float32 here.
  bool is_default_dtype() const {
    return IsInexact(number_) && !IsInexact(zero_dim_) &&
           !IsInexact(dimensioned_);
  }

 private:
  static constexpr DType kNothing = DType::kUnknown;
  struct Rank {
    DType dtype = kNothing;
    bool is_set = false;
  };
  static bool IsInexact(Rank r) {
    return r.is_set && (IsFloating(r.dtype) || IsComplex(r.dtype));
  }
  void Merge(Rank* rank, DType dtype);
  static Rank Combine(Rank higher, Rank lower);

  Rank dimensioned_, zero_dim_, number_;
};

// What a floating-point function of an integer gives.
DType ToFloating(DType dtype);
// The complex dtype of a floating one; complex stays, kUnknown for the others
// and for bfloat16.
DType ToComplex(DType dtype);
// The dtype of the absolute value: complex64 -> float32.
DType ToReal(DType dtype);

}  // namespace tenon
