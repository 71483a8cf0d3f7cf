#include "kernels/combination.h"

namespace tenon {

bool FindCombination(KernelCall& call, const std::string& name,
                     Combination* out) {
  if (name == "add" || name == "sum") {
    *out = Combination::kSum;
  } else if (name == "multiply" || name == "prod") {
    *out = Combination::kProduct;
  } else if (name == "mean") {
    *out = Combination::kMean;
  } else if (name == "amax") {
    *out = Combination::kMax;
  } else if (name == "amin") {
    *out = Combination::kMin;
  } else {
    return call.Fail("unknown reduction '" + name + "'");
  }
  return true;
}

}  // namespace tenon
