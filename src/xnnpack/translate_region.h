// A region as a graph of XNNPACK.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"
#include "xnnpack/xnn_graph.h"

namespace tenon::xnnpack {

using IsConstant = std::function<bool(ValueId)>;

// Why a node of a root graph isn't taken; nothing: it is. `is_constant` says of
// which values the numbers will be known.
std::optional<Refusal> WhyRefused(const Program& program, NodeId node,
                                  const IsConstant& is_constant);

// Whether a value is state that no call changes.
bool IsFixedState(const Program& program, ValueId v);

struct TranslatedRegion {
  Graph graph;
  std::vector<NamedBytes> data;
};

// An error for a node that isn't taken, or an output that is an input.
Expected<TranslatedRegion> TranslateRegion(
    const Program& region, const std::vector<RegionConstant>& constants,
    Diagnostics& diags);

}  // namespace tenon::xnnpack
