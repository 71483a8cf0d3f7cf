// Aligns the nodes of two programs: what was added, removed, changed.
//
// Nodes are paired in three rounds, names playing no part:
//   1 by history: the same operator over the same operands, back to the inputs
//   2 by content: the same operator and literals, in order (a shortest edit
//     script over what round 1 left)
//   3 by place: a removed and an added node between the same pairs, of the
//     same operator or with results of the same types
// A pair of round 2 counts as changed only if its operands aren't paired with
// each other, so that one changed node doesn't mark all that follows it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace tenon::tools {

struct NodeChange {
  NodeId a, b;  // one is invalid for added and removed nodes
};

struct GraphDiff {
  GraphId a, b;
  std::vector<NodeChange> changes;  // in the order of the graphs
  size_t num_equal = 0;
};

// The root graphs first, then nested graphs and children of paired nodes, as
// far as they differ. Both programs must share one context.
std::vector<GraphDiff> DiffPrograms(const Program& a, const Program& b);

}  // namespace tenon::tools
