// Puts the nodes of called children in the place of their calls (rules J).
//
//   parent: %y = call child(%x)     child(%p): %q = f(%p); -> %q
//   becomes %y' = f(%x), and every use of %y uses %y'
//
// Everything is matched by position: argument i is input i, result i is output
// i; a keyword argument is the input declared under that parameter name. What
// values and nodes are called plays no part (J-2).
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// Joins one call. The child's nodes are moved when this is its only call and
// copied otherwise. Costs the size of the boundary for a moved child (J-12).
// On an error the program is unchanged and every error is reported (J-11).
Status JoinCall(Program* program, GraphId parent, NodeId call,
                Diagnostics& diags);

// Joins every child call of the program, children in children included, until
// none is left. All or nothing.
Status JoinAll(Program* program, Diagnostics& diags);

// Replaces delegate calls by calls of the graphs that they were compiled from.
// Fails on a delegate without one.
Status ExpandDelegates(Program* program, Diagnostics& diags);

}  // namespace tenon
