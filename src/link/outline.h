// Cuts sets of nodes out into child graphs; link/join.h is the inverse.
//
//   %a = f(%x)                       call child(%x, %y)
//   %b = g(%a, %y)    becomes        child: %a = f(%x); %b = g(%a, %y); -> %b
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct RegionNodes {
  std::string name;           // label of the child and of the region
  std::string backend;        // noted in the region; "" = none
  std::vector<NodeId> nodes;  // of the parent, any order, without duplicates
};

struct Outlined {
  GraphId child;
  NodeId call;
  RegionId region;
};

// Moves each region's nodes from `parent` into a child of its own and puts one
// call in their place; nodes keep their ids.
//
// A child's inputs are the values that cross into the region, each once, graph
// inputs first, then by definition in the parent (P-4); its outputs are the
// values used outside, by definition. The call's arguments and results
// correspond one to one. Nodes of the parent are reordered only as far as the
// regions need, and never two whose effects are ordered (J-6, M-1).
//
// Fails, changing nothing, when the regions overlap or contracting them leaves
// a cycle (P-1). Linear in the parent.
Expected<std::vector<Outlined>> OutlineRegions(
    Program* program, GraphId parent, const std::vector<RegionNodes>& regions,
    Diagnostics& diags);

// The position of each node in its graph's list, by node index; kNoPosition for
// nodes of other graphs.
constexpr uint32_t kNoPosition = 0xFFFFFFFFu;
std::vector<uint32_t> NodePositions(const Program& program, GraphId graph);
// Puts the nodes of `graph` into ascending position. Each must have one, taken
// when the order was topological: joined nodes keep their ids, so this undoes
// what cutting regions did to the order.
void RestoreOrder(Program* program, GraphId graph,
                  const std::vector<uint32_t>& positions);

}  // namespace tenon
