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

// What becomes of the child.
enum class JoinMode : uint8_t {
  kMove,  // this is its only call: its nodes move, the child is gone
  kCopy,  // other calls remain: its nodes are copied
};

// Joins one call of `parent`. Moving costs the size of the boundary, whatever
// the child's size (J-12). On an error the program is unchanged (J-11).
Status JoinCall(Program* program, GraphId parent, NodeId call, JoinMode mode,
                Diagnostics& diags);

// Ids have 32 bits, and a node has arguments, results and uses.
constexpr uint64_t kMaxJoinedNodes = 250'000'000;

// Joins every child call that the root reaches, children in children, calls in
// nested graphs and in the sources of delegates included, until none is left.
// On an error the program is unchanged and every error is reported.
Status JoinAll(Program* program, Diagnostics& diags);

// Turns delegate calls into calls of the graphs that they were compiled from.
// Fails, changing nothing, on a delegate without one; with `keep_unknown`, such
// delegates stay.
Status ExpandDelegates(Program* program, Diagnostics& diags,
                       bool keep_unknown = false);

}  // namespace tenon
