// Other forms of a view operator, made from its kernel: the copying form
// (aten.permute_copy) and the one that changes its argument's own geometry
// (aten.transpose_).
#pragma once

#include "kernels/kernel.h"

namespace tenon {

// Replaces each tensor among the results by a fresh contiguous copy.
bool CopyResults(KernelCall& call);

template <Kernel kView>
bool CopyOf(KernelCall& call) {
  return kView(call) && CopyResults(call);
}

template <Kernel kView>
bool InPlaceOf(KernelCall& call) {
  if (!kView(call)) return false;
  call.arg(0) = call.results()[0];
  return true;
}

}  // namespace tenon
