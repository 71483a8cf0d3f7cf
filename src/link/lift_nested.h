// State that nested graphs refer to, as operands of what holds them.
//
//   cond(%p, @then, @else, [%x])          cond(%p, @then, @else, [%x, %w])
//   @then(%x): %w = get_state "w" ...     @then(%x, %w): ...
//                                    ->   @else(%x, %w): ...   (%w unused)
//   and so for the graphs that delegates stand for, whose calls pass it.
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// Afterwards only the root graph refers to state. Children must be joined
// first. Fails, changing nothing, on an operator whose way of passing operands
// isn't known.
Status LiftNestedState(Program* program, Diagnostics& diags);

}  // namespace tenon
