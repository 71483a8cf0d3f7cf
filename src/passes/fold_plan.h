// What of a program's constant values is worth folding.
//
// The second half of FoldConstants: decides, changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "passes/constant_values.h"

namespace tenon {

// By position in ConstantValues::all().
struct FoldPlan {
  // The node that defines the value goes.
  std::vector<bool> goes;
  // A tensor that something reads which stays: it becomes a constant.
  std::vector<bool> is_kept;
};

// Values and constants that are connected are folded together or not at all;
// groups in the order of the program, while growth is left.
FoldPlan PlanFolding(const Program& program, const ConstantValues& values,
                     uint64_t max_growth_bytes);

}  // namespace tenon
