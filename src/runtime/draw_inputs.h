// Inputs for a program by chance, within what its signature and ranges allow.
#pragma once

#include <cstdint>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"
#include "tensor/value.h"

namespace tenon {

// Where in its range each size symbol is taken from.
enum class SizeChoice : uint8_t { kRandom, kSmallest, kLargest };

struct DrawOptions {
  uint64_t seed = 0;
  SizeChoice sizes = SizeChoice::kRandom;
  // A symbol without an upper bound, or with a larger one, is drawn up to this.
  int64_t max_size = 64;
  // Integer tensors hold 0 <= x < this, so that they can serve as indices of
  // small tables; floats lie in [-1, 1).
  int64_t integer_limit = 2;
};

// One value per user input, in order: tensors contiguous, literals as they were
// fixed. Same program and options give the same values on every machine. Fails
// when a size can't be computed from the symbols or an input is an opaque
// object.
Expected<std::vector<RuntimeValue>> DrawInputs(const Program& program,
                                               const DrawOptions& options,
                                               Diagnostics& diags);

}  // namespace tenon
