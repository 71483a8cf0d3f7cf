#include "memory_picture.h"

#include <utility>

#include "memory/memory_picture.h"

namespace tenon::tools {
namespace {

PicturedPlan PlanOf(const RegionProfile& region) {
  const PlanListing& listing = *region.listing;
  PicturedPlan plan;
  plan.title = region.name + " (" + region.backend + ")";
  plan.num_steps = listing.steps.size();
  plan.size_bytes = listing.arena_bytes;
  for (const ListedBuffer& b : listing.buffers) {
    const ListedStep& step = listing.steps[b.first_step];
    std::string about = step.name;
    for (const std::string& op : step.ops) about += " " + op;
    plan.buffers.push_back({b.offset,
                            b.size_bytes,
                            {b.first_step, b.last_step},
                            std::move(about)});
  }
  return plan;
}

}  // namespace

std::string MemoryAsSvg(const std::vector<RegionProfile>& regions) {
  std::vector<PicturedPlan> plans;
  for (const RegionProfile& region : regions) {
    if (region.listing) plans.push_back(PlanOf(region));
  }
  return tenon::MemoryAsSvg(plans);
}

}  // namespace tenon::tools
