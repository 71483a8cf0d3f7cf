// State references and signature entries: two forms of one program (rules L).
//
//   %w = get_state "fc.weight"         graph(%w = parameter "fc.weight", %x)
//   %y = mm(%x, %w)             <->      %y = mm(%x, %w)
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// Turns every state reference of the root graph into a graph input with a
// signature entry: one per state entry (L-2), ordered parameters, buffers,
// constants, objects, tokens, then user inputs, inside a group by the state
// table (L-1); kinds and types come from the table (L-3, L-5). Children must be
// joined first. References in nested graphs of control flow are passed as
// further operands. Linear in references plus state (L-9).
Status Lift(Program* program, Diagnostics& diags);

// The inverse: inputs that stand for state become references at the top of the
// root graph.
void Unlift(Program* program);

}  // namespace tenon
