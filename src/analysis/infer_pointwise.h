// The rule of operators that work element by element.
#pragma once

#include "analysis/infer_call.h"

namespace tenon::pointwise {

// What the promoted dtype becomes.
enum Outcome : uint32_t {
  kPromoted,
  kFloat,  // integers become float32
  kBoolean,
  kRealPart,    // complex becomes real
  kIfFloating,  // known for floating operands only
  kIfInexact,   // and for complex ones
  kAgreed,      // known where all have it
  kNumeric,     // bool becomes int64
  kDouble,      // float64, complex128
};

// A row's parameter: the outcome, and a bit for each schema parameter whose
// dtype is promoted. All tensor parameters are broadcast.
constexpr uint32_t P(Outcome outcome, uint32_t mask) {
  return outcome << 16 | mask;
}
constexpr uint32_t kSelf = 0b1;
constexpr uint32_t kBoth = 0b11;

void Pointwise(InferCall& call, uint32_t parameter);

}  // namespace tenon::pointwise
