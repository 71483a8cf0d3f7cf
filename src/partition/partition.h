// Decides which nodes each backend takes, and groups them into regions
// (rules P).
//
// Backends are asked in order of preference; the first that takes a node gets
// it. For one backend:
//
//   1. refuse     what the caller's lists, the node's effects and devices, and
//                 the backend itself rule out; every node keeps its reason
//   2. group      what must stay together is taken whole or not at all
//                 (groups.h)
//   3. cut        into as few convex regions as there can be, and among those
//                 cuts one that sends few bytes over boundaries (cut.h), for
//                 each device of the program by itself (devices.h)
//   4. select     regions that are too small, too many or not worth their
//                 boundary stay in the graph
//
// For the next backend, the regions made so far are nodes of the graph that it
// cuts, so all of them together leave no cycle. The cost is linear in nodes
// plus edges per backend and device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "partition/cost.h"
#include "support/expected.h"

namespace tenon {

// What one backend may take.
struct BackendRequest {
  const Backend* backend = nullptr;
  // Operators by overload ("aten.add.Tensor") or all overloads ("aten.add"),
  // or single nodes by name ("%add_1"). Without `allow` all that the backend
  // takes. A name that no node bears is an error.
  std::optional<std::vector<std::string>> allow;
  std::vector<std::string> deny;
  // Nodes by name ("%add_1") that are taken together or not at all.
  std::vector<std::vector<std::string>> groups;
  uint32_t min_region_nodes = 1;
  // 0 = any number; else the regions that gain most are kept.
  uint32_t max_regions = 0;
  // Regions whose boundary costs more than they save stay in the graph.
  bool drop_costly = false;
  CostModel cost;
  // An error for each operator that is left when this backend had its turn.
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
  // For each node that is in no region, in the graph's order: one entry per
  // backend (P-2).
  std::vector<NodeRefusal> refusals;
};

// Changes nothing. Fails when a demand (must_take_all, a named node) doesn't
// hold; every reason is reported then.
Expected<PartitionPlan> PlanPartition(const Program& program,
                                      const PartitionOptions& options,
                                      Diagnostics& diags);

// Whether the backend may take all nodes of a region's own program, for a
// region that another one gave up on (D-7). Sizes, numbers and groups of
// regions don't matter any more.
bool TakesWhole(const Program& region, const BackendRequest& request);

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
