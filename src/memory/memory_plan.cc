#include "memory/memory_plan.h"

#include <algorithm>
#include <utility>

#include "memory/conflicts.h"
#include "memory/first_fit.h"
#include "memory/memory_problem.h"
#include "memory/overlap.h"
#include "memory/peak_live.h"
#include "memory/placement_orders.h"
#include "memory/plan_search.h"
#include "memory/time_sweep.h"

namespace tenon {
namespace {

class Planner {
 public:
  Planner(const MemoryProblem& problem, uint64_t bound_bytes,
          uint64_t work_budget)
      : problem_(problem), bound_(bound_bytes), budget_(work_budget) {}

  SlotOffsets Run() {
    Keep(SweepTime(problem_, SweepDirection::kForwards));
    if (!is_done()) Keep(SweepTime(problem_, SweepDirection::kBackwards));
    if (!is_done()) PlaceByPairs();
    return std::move(best_);
  }

 private:
  bool is_done() const { return best_.size_bytes == bound_; }

  void Keep(SlotOffsets found) {
    if (found.size_bytes < best_.size_bytes) best_ = std::move(found);
  }

  void PlaceByPairs() {
    const uint64_t max_pairs = std::min(budget_ / kLooksPerPair, kMaxPairs);
    const uint64_t num_pairs = CountConflicts(problem_, max_pairs);
    if (num_pairs == max_pairs) return;
    const Conflicts conflicts(problem_);
    FirstFit fit(problem_, conflicts);
    looks_left_ = budget_ - kLooksPerPair * num_pairs;
    // What one order costs at most.
    const uint64_t looks_per_order =
        problem_.slots.size() * kLooksPerSlot + 3 * conflicts.num_entries() / 2;
    if (looks_per_order * kNumPlacementOrders <= looks_left_ / 4) {
      SearchFromBestOrders(conflicts, &fit);
    } else {
      SearchAsAffordable(conflicts, looks_per_order, &fit);
    }
    SearchFromBest(conflicts, looks_left_, &fit);
  }

  // Where orders are cheap: all of them, then a search from each of the best.
  void SearchFromBestOrders(const Conflicts& conflicts, FirstFit* fit) {
    std::vector<std::pair<uint64_t, int>> orders;  // sizes that they reach
    for (int o = 0; o < kNumPlacementOrders; ++o) {
      if (PlaceInOrder(o, fit)) orders.push_back({fit->SizeBytes(), o});
      if (is_done()) return;
    }
    std::stable_sort(
        orders.begin(), orders.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    orders.resize(std::min(orders.size(), kNumStarts));
    for (size_t i = 0; i < orders.size() && !is_done(); ++i) {
      if (!PlaceInOrder(orders[i].second, fit)) continue;
      Search(conflicts, looks_left_ / (orders.size() - i + 1), fit);
    }
  }

  // Where they aren't: the sweep's plan is repaired first, which costs as much
  // as there is to repair; then each order is searched from at once.
  void SearchAsAffordable(const Conflicts& conflicts, uint64_t looks_per_order,
                          FirstFit* fit) {
    SearchFromBest(conflicts, looks_left_ / 16, fit);
    for (int o = 0; o < kNumPlacementOrders && !is_done(); ++o) {
      if (looks_per_order > looks_left_) return;
      if (PlaceInOrder(o, fit)) Search(conflicts, looks_left_ / 2, fit);
    }
  }

  bool PlaceInOrder(int which, FirstFit* fit) {
    const uint64_t before = fit->num_looks();
    fit->SetOrder(PlacementOrder(problem_, which));
    const bool fits = fit->PlaceAll(kMaxMemoryBytes);
    if (fits && fit->SizeBytes() < best_.size_bytes) {
      Keep({fit->offsets(), fit->SizeBytes()});
    }
    Spend(fit->num_looks() - before + problem_.slots.size() * kLooksPerSlot);
    return fits;
  }

  void SearchFromBest(const Conflicts& conflicts, uint64_t max_looks,
                      FirstFit* fit) {
    if (is_done() || best_.size_bytes == kNoOffset) return;
    fit->StartFrom(best_.offsets);
    Search(conflicts, max_looks, fit);
  }

  void Search(const Conflicts& conflicts, uint64_t max_looks, FirstFit* fit) {
    const uint64_t before = fit->num_looks();
    const uint64_t size =
        SearchPlan(problem_, conflicts, bound_, before + max_looks, fit);
    if (size < best_.size_bytes) Keep({fit->offsets(), size});
    Spend(fit->num_looks() - before);
  }

  void Spend(uint64_t looks) { looks_left_ -= std::min(looks_left_, looks); }

  // Finding a pair costs as much as so many looks, sorting a slot, too.
  static constexpr uint64_t kLooksPerPair = 2;
  static constexpr uint64_t kLooksPerSlot = 4;
  // Orders from which a search starts.
  static constexpr size_t kNumStarts = 4;
  static constexpr uint64_t kMaxPairs = uint64_t{1} << 30;

  const MemoryProblem& problem_;
  const uint64_t bound_;
  const uint64_t budget_;
  uint64_t looks_left_ = 0;
  SlotOffsets best_;
};

uint64_t DefaultBudget(size_t num_buffers) {
  return (uint64_t{1} << 22) + 40 * uint64_t{num_buffers};
}

// The end of the highest fixed buffer, which no other fixed one overlaps.
Expected<uint64_t> CheckFixed(std::span<const Lifetime> lifetimes,
                              const MemoryProblem& problem,
                              Diagnostics& diags) {
  std::vector<Lifetime> fixed;
  for (const uint32_t s : problem.fixed_slots) {
    fixed.push_back(lifetimes[problem.slots[s].lifetime]);
  }
  const auto lifetime_of = [&](size_t i) {
    return problem.slots[problem.fixed_slots[i]].lifetime;
  };
  uint64_t end = 0;
  for (size_t i = 0; i < fixed.size(); ++i) {
    const uint64_t offset = problem.fixed_offsets[i];
    const uint64_t size = problem.slots[problem.fixed_slots[i]].size_bytes;
    if (offset > kMaxMemoryBytes - size) {
      return diags.Error(Rule::kUnsupported)
             << "buffer " << lifetime_of(i) << ": " << size
             << " bytes at offset " << offset << " end behind 2^63 - 1";
    }
    end = std::max(end, offset + size);
  }
  if (const auto pair = FindOverlap(fixed, problem.fixed_offsets)) {
    return diags.Error(Rule::kUnsupported)
           << "buffers " << lifetime_of(pair->first) << " and "
           << lifetime_of(pair->second)
           << " are fixed at places that overlap, and alive together";
  }
  return end;
}

}  // namespace

Expected<MemoryPlan> PlanMemory(std::span<const Lifetime> lifetimes,
                                const MemoryPlanOptions& options,
                                Diagnostics& diags) {
  TENON_ASSIGN(const MemoryProblem problem,
               MakeMemoryProblem(lifetimes, diags));
  const auto peak = PeakLive(problem);
  if (!peak) {
    return diags.Error(Rule::kUnsupported)
           << "more than 2^63 - 1 bytes are alive at one step";
  }
  TENON_ASSIGN(const uint64_t fixed_end, CheckFixed(lifetimes, problem, diags));
  MemoryPlan plan;
  plan.bound_bytes = std::max(*peak, fixed_end);
  const SlotOffsets found =
      Planner(problem, plan.bound_bytes,
              options.work_budget.value_or(DefaultBudget(lifetimes.size())))
          .Run();
  if (found.size_bytes == kNoOffset) {
    return diags.Error(Rule::kUnsupported)
           << "no plan found that ends before 2^63 bytes";
  }
  plan.size_bytes = found.size_bytes;
  plan.offsets.resize(lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    plan.offsets[i] = lifetimes[i].fixed_offset.value_or(0);
  }
  for (size_t s = 0; s < problem.slots.size(); ++s) {
    plan.offsets[problem.slots[s].lifetime] = found.offsets[s];
  }
  return plan;
}

}  // namespace tenon
