// The order that sort, topk, median and searchsorted share: nan is largest,
// and all nans are equal.
#pragma once

#include "kernels/arithmetic.h"

namespace tenon {

template <typename C>
bool SortsBefore(C a, C b) {
  if (IsNan(a)) return false;
  return IsNan(b) || a < b;
}

}  // namespace tenon
