// Cuts a set of nodes out into a child graph, and joins children back.
#pragma once

#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// Moves `nodes` of `parent` (any order, no duplicates, not the output node)
// into a new child graph and puts one call in their place.
//
//   %a = f(%x)                       call child(%x, %y)
//   %b = g(%a, %y)    becomes        child: %a = f(%x); %b = g(%a, %y); -> %b
//
// The child's inputs are the values that cross into the region, each once, in
// the order of their definition in the parent, graph inputs first (P-4). Its
// outputs are the values used outside, in order of definition. The set must be
// convex (P-1): no path leaves it and comes back; else an error names one.
// Effects of the region must not be reordered against effects outside.
struct Outlined {
  GraphId child;
  NodeId call;
};
Expected<Outlined> Outline(Program* program, GraphId parent,
                           const std::vector<NodeId>& nodes,
                           std::string_view name, Diagnostics& diags);

}  // namespace tenon
