// Elements moved dimension by dimension: a stretch of the result's positions
// comes from a stretch of the operand's, forwards, backwards or standing still.
// Every combination of stretches is one copy between views:
//
//   roll by 1      [n-1][0 .. n-2]            two stretches
//   reflect by 2   [2, 1][0 .. n-1][n-2, n-3]  three
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/plan_builder.h"
#include "kernels/kernel.h"

namespace tenon::cpu {

// `length` positions of a result's dimension from `to` on are those of the
// operand from `from` on, `step` apart.
struct Stretch {
  int64_t to = 0, from = 0, length = 0, step = 1;
};
using Stretches = std::vector<std::vector<Stretch>>;  // by dimension

// The stretch that leaves a dimension as it is.
inline std::vector<Stretch> Whole(int64_t size) { return {{0, 0, size, 1}}; }

// `length` elements of a dimension from `start`, `step` apart, which may be 0
// or negative.
Tensor StretchOf(const Tensor& t, int64_t dim, int64_t start, int64_t length,
                 int64_t step);

// Returns a tensor of `strides` whose elements the stretches, which fill it,
// say.
bool ReturnMoved(PlanBuilder& b, KernelCall& call, const Tensor& self,
                 const Stretches& stretches, Sizes sizes, Sizes strides);

}  // namespace tenon::cpu
