// What a region costs and saves, to choose among cuts that are equal otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/dependencies.h"
#include "ir/program.h"
#include "partition/boundary_bytes.h"
#include "partition/units.h"

namespace tenon {

// docs/partition.md says where the numbers come from.
struct CostModel {
  // One call of a delegate.
  int64_t launch_ns = 200;
  // Bytes a nanosecond at which values cross a boundary.
  int64_t bandwidth_gb_per_s = 10;
  // What a node costs less in a region than on its own.
  int64_t node_saving_ns = 2000;
};

struct RegionCost {
  int64_t boundary_bytes = 0;  // of inputs and outputs, each once
  int64_t cost_ns = 0;         // launch and boundary
  int64_t saving_ns = 0;       // of its nodes
  int64_t gain_ns() const { return saving_ns - cost_ns; }
};

// Of regions of one graph, in order. Linear in their nodes, operands and uses.
std::vector<RegionCost> CostOfRegions(const Program& program,
                                      const Dependencies& dependencies,
                                      const std::vector<NodeSet>& regions,
                                      const CostModel& model,
                                      BoundaryBytes* bytes);

}  // namespace tenon
