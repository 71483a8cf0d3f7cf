#include "partition/selection.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "partition/cost.h"

namespace tenon {
namespace {

std::string NodeCount(const NodeSet& region) {
  return std::to_string(region.size()) +
         (region.size() == 1 ? " node" : " nodes");
}

class Selection {
 public:
  Selection(const BackendRequest& request, Board* board,
            std::vector<NodeSet>* regions)
      : request_(request), board_(*board), regions_(*regions) {}

  std::vector<DroppedRegion> Run() {
    DropSmall();
    if (request_.drop_costly) DropCostly();
    if (request_.max_regions > 0 && regions_.size() > request_.max_regions) {
      DropSurplus();
    }
    return std::move(dropped_);
  }

 private:
  void DropSmall() {
    Split([&](size_t r) { return regions_[r].size() < min_nodes(); },
          [&](size_t r) {
            return Refusal{RefusalReason::kRegionTooSmall,
                           NodeCount(regions_[r])};
          });
  }

  void DropCostly() {
    const std::vector<RegionCost> costs = Costs();
    Split([&](size_t r) { return costs[r].gain_ns() < 0; },
          [&](size_t r) {
            return Refusal{RefusalReason::kRegionTooSmall,
                           NodeCount(regions_[r]) + ", saving " +
                               std::to_string(costs[r].saving_ns) +
                               " ns; call and boundary of " +
                               std::to_string(costs[r].boundary_bytes) +
                               " B cost " + std::to_string(costs[r].cost_ns) +
                               " ns"};
          });
  }

  void DropSurplus() {
    const std::vector<RegionCost> costs = Costs();
    std::vector<size_t> order(regions_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return costs[a].gain_ns() > costs[b].gain_ns();
    });
    std::vector<bool> is_surplus(regions_.size(), false);
    for (size_t at = request_.max_regions; at < order.size(); ++at) {
      is_surplus[order[at]] = true;
    }
    Split([&](size_t r) { return is_surplus[r]; },
          [&](size_t r) {
            return Refusal{RefusalReason::kTooManyRegions,
                           NodeCount(regions_[r])};
          });
  }

  // Drops regions by index: is_dropped(r), for the reason why(r).
  template <typename IsDropped, typename Why>
  void Split(IsDropped&& is_dropped, Why&& why) {
    std::vector<NodeSet> kept;
    for (size_t r = 0; r < regions_.size(); ++r) {
      if (is_dropped(r)) {
        Refusal refusal = why(r);
        dropped_.push_back({std::move(regions_[r]), std::move(refusal)});
      } else {
        kept.push_back(std::move(regions_[r]));
      }
    }
    regions_ = std::move(kept);
  }

  size_t min_nodes() const { return request_.min_region_nodes; }

  std::vector<RegionCost> Costs() {
    return CostOfRegions(board_.program, board_.dependencies, regions_,
                         request_.cost, &board_.bytes);
  }

  const BackendRequest& request_;
  Board& board_;
  std::vector<NodeSet>& regions_;
  std::vector<DroppedRegion> dropped_;
};

}  // namespace

std::vector<DroppedRegion> DropRegions(const BackendRequest& request,
                                       Board* board,
                                       std::vector<NodeSet>* regions) {
  return Selection(request, board, regions).Run();
}

}  // namespace tenon
