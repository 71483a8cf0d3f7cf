// A region as a graph of XNNPACK.
#pragma once

#include <optional>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"
#include "xnnpack/stored_tensor.h"
#include "xnnpack/xnn_graph.h"

namespace tenon::xnnpack {

// Why a node of a root graph isn't taken; nothing: it is. `stored` gives the
// values whose numbers are known.
std::optional<Refusal> WhyRefused(const Program& program, NodeId node,
                                  const FindStored& stored);

struct TranslatedRegion {
  Graph graph;
  std::vector<NamedBytes> data;
};

// An error for a node that isn't taken, or an output that is an input.
// `rounds`: see GraphBuilder.
Expected<TranslatedRegion> TranslateRegion(
    const Program& region, const std::vector<RegionConstant>& constants,
    bool rounds, Diagnostics& diags);

}  // namespace tenon::xnnpack
