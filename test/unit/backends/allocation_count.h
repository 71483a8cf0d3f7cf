// Counts what this thread allocates, whoever asks: our code, the standard
// library, a library that calls malloc itself.
#pragma once

#include <cstddef>

namespace tenon {

struct Allocations {
  int count = 0;
  size_t size_bytes = 0;
};

// Of this thread since it started; the difference of two is what happened
// between them.
Allocations AllocationsSoFar();

}  // namespace tenon
