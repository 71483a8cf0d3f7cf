#include "partition/cost.h"

#include <algorithm>

namespace tenon {
namespace {

constexpr uint32_t kNone = 0xFFFFFFFFu;

}  // namespace

std::vector<RegionCost> CostOfRegions(const Program& program,
                                      const Dependencies& dependencies,
                                      const std::vector<NodeSet>& regions,
                                      const CostModel& model,
                                      BoundaryBytes* bytes) {
  std::vector<uint32_t> region_of(dependencies.size(), kNone);
  for (uint32_t r = 0; r < regions.size(); ++r) {
    for (const uint32_t i : regions[r]) region_of[i] = r;
  }
  const auto is_inside = [&](NodeId n, uint32_t r) {
    if (!n.valid()) return false;
    const uint32_t i = dependencies.position(n);
    return i < region_of.size() && region_of[i] == r;
  };
  std::vector<uint32_t> counted_in(program.num_values(), kNone);
  std::vector<RegionCost> costs(regions.size());
  for (uint32_t r = 0; r < regions.size(); ++r) {
    RegionCost& cost = costs[r];
    for (const uint32_t i : regions[r]) {
      const NodeId n = dependencies.nodes()[i];
      program.ForEachOperand(n, [&](ValueId v) {
        if (counted_in[v.index] == r) return;
        counted_in[v.index] = r;
        if (!is_inside(program.value(v).def, r)) {
          cost.boundary_bytes += bytes->Of(v);
        }
      });
      const ValueRange results = program.node(n).results;
      for (uint32_t k = 0; k < results.count; ++k) {
        UseId u = program.value(results[k]).first_use;
        while (u.valid() && is_inside(program.use(u).user, r)) {
          u = program.use(u).next;
        }
        if (u.valid()) cost.boundary_bytes += bytes->Of(results[k]);
      }
    }
    cost.cost_ns =
        model.launch_ns +
        cost.boundary_bytes / std::max<int64_t>(model.bandwidth_gb_per_s, 1);
    cost.saving_ns =
        model.node_saving_ns * static_cast<int64_t>(regions[r].size());
  }
  return costs;
}

}  // namespace tenon
