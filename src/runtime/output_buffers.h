// Results in memory of the caller's.
#pragma once

#include <span>
#include <vector>

#include "diag/diagnostics.h"
#include "support/expected.h"
#include "tensor/tensor.h"
#include "tensor/value.h"

namespace tenon {

// `buffers[i]` is for the i-th result; undefined, or behind the last one: the
// session allocates. A buffer must have the result's dtype and sizes, may have
// any strides in which no two elements meet, and no two buffers may share
// memory. Reports what doesn't fit (S-5) before anything is written.
Status CheckOutputBuffers(std::span<const Tensor> buffers,
                          std::span<const RuntimeValue> results,
                          Diagnostics& diags);

// Copies results into their buffers, once, and puts the buffers in the place of
// the results. A result that lies in a buffer's memory (the program returned an
// input, and the caller gave the input's memory) keeps its value.
void FillOutputBuffers(std::span<const Tensor> buffers,
                       std::vector<RuntimeValue>* results);

}  // namespace tenon
