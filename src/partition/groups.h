// Nodes that one region must hold together, or none (P-5, D-5).
#pragma once

#include <string>
#include <vector>

#include "analysis/dependencies.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "partition/units.h"
#include "support/expected.h"

namespace tenon {

// A quantise and the dequantises of its result: cut apart, what crosses the
// boundary has lost its scale. (A node with several results needs no group: its
// results are parts of it.)
std::vector<NodeSet> FindQuantisePairs(const Program& program,
                                       const Dependencies& dependencies);

// Groups by names of nodes, "%relu_1". A name that no node bears is an error.
Expected<std::vector<NodeSet>> FindNamedGroups(
    const Program& program, const Dependencies& dependencies,
    const std::vector<std::vector<std::string>>& names, Diagnostics& diags);

// For a backend that takes no scalars at its boundary: whoever computes a
// scalar and all who use it.
struct ScalarGroups {
  std::vector<NodeSet> groups;
  // Nodes that can't be taken at all: they use a scalar input or compute a
  // scalar output of the program.
  NodeSet at_the_edge;
};
ScalarGroups FindScalarGroups(const Program& program,
                              const Dependencies& dependencies);

}  // namespace tenon
