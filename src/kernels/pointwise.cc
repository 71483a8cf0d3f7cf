#include "kernels/pointwise.h"

#include <vector>

#include "kernels/registry.h"

namespace tenon {

std::span<const KernelEntry> PointwiseKernels() {
  static const auto* all = [] {
    auto* entries = new std::vector<KernelEntry>();
    for (const auto part :
         {ArithmeticKernels(), ComparisonKernels(), BitwiseKernels(),
          UnaryKernels(), ActivationKernels(), CastKernels(),
          SpecialKernels()}) {
      entries->insert(entries->end(), part.begin(), part.end());
    }
    return entries;
  }();
  return *all;
}

}  // namespace tenon
