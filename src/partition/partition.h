// Decides which nodes each backend takes, and groups them into regions
// (rules P).
//
// Backends are asked in order of preference; the first that takes a node gets
// it. For one backend the cut is the coarsest there is: a node's level is the
// largest number of that backend's regions on a path that ends in it, and a
// region is all nodes of one level. A path that leaves a level through another
// node comes back at a higher one, so regions are convex by construction; and
// since a path crosses each level once, fewer regions can't be. For the next
// backend, the regions made so far are nodes of the graph that it cuts. The
// cost is linear in nodes plus edges per backend.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// What one backend may take.
struct BackendRequest {
  const Backend* backend = nullptr;
  // Operators by overload ("aten.add.Tensor") or all overloads ("aten.add").
  // Empty allow: all that the backend takes.
  std::vector<std::string> allow, deny;
  uint32_t min_region_nodes = 1;
  // 0 = any number; else the largest regions are kept.
  uint32_t max_regions = 0;
  bool must_take_all = false;
};

struct PartitionOptions {
  std::vector<BackendRequest> backends;  // most preferred first
};

struct PlannedRegion {
  const Backend* backend = nullptr;
  std::vector<NodeId> nodes;  // in the graph's order
};

struct NodeRefusal {
  NodeId node;
  const Backend* backend = nullptr;
  Refusal refusal;
};

struct PartitionPlan {
  std::vector<PlannedRegion> regions;  // by first node
  // For each node that is in no region: one entry per backend (P-2).
  std::vector<NodeRefusal> refusals;
};

// Changes nothing. Fails when a demand (must_take_all) doesn't hold; every
// reason is reported then.
Expected<PartitionPlan> PlanPartition(const Program& program,
                                      const PartitionOptions& options,
                                      Diagnostics& diags);

// The cut alone: `color[i]` is the backend index of the graph's i-th node, or
// kUncolored. Regions of one color are convex, and all together leave no cycle.
constexpr uint32_t kUncolored = 0xFFFFFFFFu;
struct ColoredRegion {
  uint32_t color = 0;
  std::vector<NodeId> nodes;
};
std::vector<ColoredRegion> CutByColor(const Program& program, GraphId graph,
                                      const std::vector<uint32_t>& color,
                                      uint32_t num_colors);

}  // namespace tenon
