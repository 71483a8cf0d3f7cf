// How scatters and index_reduce combine what lands on one element.
#pragma once

#include <string>

#include "kernels/kernel.h"

namespace tenon {

enum class Combination { kAssign, kSum, kProduct, kMean, kMax, kMin };

// By PyTorch's name, of which some have two. Fails the call when there is none.
bool FindCombination(KernelCall& call, const std::string& name,
                     Combination* out);

}  // namespace tenon
