#include "memory/placement_orders.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tenon {
namespace {

// By slot: the most memory alive at one time of its life.
class Contention {
 public:
  explicit Contention(const MemoryProblem& problem)
      : num_times_(problem.num_times), peaks_(size_t{2} * num_times_) {
    // A time at which nothing begins has no more than the one before.
    uint64_t live = 0;
    ForEachEvent(
        problem,
        [&](const LiveRange& range) {
          live += problem.slots[range.slot].size_bytes;
          peaks_[num_times_ + range.begin] = live;
          return true;
        },
        [&](const LiveRange& range) {
          live -= problem.slots[range.slot].size_bytes;
          return true;
        });
    for (size_t i = num_times_; i-- > 1;) {
      peaks_[i] = std::max(peaks_[2 * i], peaks_[2 * i + 1]);
    }
  }

  // A tree of maxima: node i is above 2i and 2i + 1.
  uint64_t Of(const MemorySlot& slot) const {
    uint64_t peak = 0;
    size_t from = num_times_ + slot.begin, to = num_times_ + slot.end;
    for (; from < to; from /= 2, to /= 2) {
      if (from % 2 == 1) peak = std::max(peak, peaks_[from++]);
      if (to % 2 == 1) peak = std::max(peak, peaks_[--to]);
    }
    return peak;
  }

 private:
  size_t num_times_;
  std::vector<uint64_t> peaks_;
};

}  // namespace

std::vector<uint32_t> PlacementOrder(const MemoryProblem& problem, int which) {
  std::vector<uint32_t> order;
  {
    std::vector<bool> is_fixed(problem.slots.size());
    for (const uint32_t s : problem.fixed_slots) is_fixed[s] = true;
    for (uint32_t s = 0; s < problem.slots.size(); ++s) {
      if (!is_fixed[s]) order.push_back(s);
    }
  }
  const auto& slots = problem.slots;
  const auto length = [&](uint32_t s) { return slots[s].end - slots[s].begin; };
  // Rounding makes ties at worst.
  const auto area = [&](uint32_t s) {
    return static_cast<double>(slots[s].size_bytes) * length(s);
  };
  // Larger keys first; by number among equals.
  const auto sort_by = [&](auto&& key) {
    using Key = decltype(key(uint32_t{0}));
    std::vector<std::pair<Key, uint32_t>> keyed;
    keyed.reserve(order.size());
    for (const uint32_t s : order) keyed.push_back({key(s), s});
    std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (size_t i = 0; i < order.size(); ++i) order[i] = keyed[i].second;
  };
  const auto size = [&](uint32_t s) { return slots[s].size_bytes; };
  // Those that look at contention first.
  if (which < 3) {
    const Contention contention(problem);
    sort_by([&](uint32_t s) {
      const uint64_t peak = contention.Of(slots[s]);
      const std::tuple<double, uint64_t> by[] = {
          {length(s), size(s)}, {area(s), size(s)}, {size(s), length(s)}};
      return std::tuple(peak, by[which]);
    });
    return order;
  }
  switch (which) {
    case 3:
      sort_by([&](uint32_t s) { return std::tuple(size(s), length(s)); });
      break;
    case 4:
      sort_by([&](uint32_t s) { return std::tuple(area(s), size(s)); });
      break;
    case 5:
      sort_by([&](uint32_t s) { return std::tuple(length(s), size(s)); });
      break;
    case 6:
      sort_by([&](uint32_t s) {
        return std::tuple(UINT32_MAX - slots[s].begin, size(s));
      });
      break;
    case 7:
      sort_by([&](uint32_t s) { return std::tuple(slots[s].end, size(s)); });
      break;
  }
  return order;
}

}  // namespace tenon
