// Operators that compute in float32, on half precision: operands are widened,
// and results rounded once, as PyTorch's kernels do it.
//
// The widened tensors are elementwise casts like others: they merge with what
// comes before and after. Weights aren't: where a lowering asks for the narrow
// tensor behind one (PlanBuilder::FindStored), it reads that, and the cast is
// dropped like any unused step.
#pragma once

#include "backends/cpu/lowering.h"

namespace tenon::cpu {

// Lowers the call by `lowering`, with float32 in place of half precision where
// the lowering has nothing else.
bool LowerWidened(PlanBuilder& builder, KernelCall& call,
                  const Lowering& lowering);

}  // namespace tenon::cpu
