#include "partition/cut.h"

#include <algorithm>

namespace tenon {
namespace {

constexpr uint32_t kNoLevel = 0xFFFFFFFFu;

}  // namespace

Cutter::Cutter(const Dependencies& dependencies)
    : dependencies_(dependencies),
      unit_(dependencies.size()),
      in_region_(dependencies.size(), false) {
  for (uint32_t i = 0; i < unit_.size(); ++i) unit_[i] = i;
  order_ = unit_;
}

std::vector<std::vector<uint32_t>> Cutter::Cut(
    const std::vector<bool>& wanted) {
  // In `order_`, members of one region stand side by side and predecessors come
  // first. A region made earlier is one unit: its level is that of all members.
  std::vector<uint32_t> level(dependencies_.size(), kNoLevel);
  std::vector<std::vector<uint32_t>> regions;
  for (size_t at = 0; at < order_.size();) {
    size_t end = at + 1;
    while (end < order_.size() && unit_[order_[end]] == unit_[order_[at]]) {
      ++end;
    }
    // kNoLevel + 1 == 0: a node that no region reaches is at level 0.
    uint32_t reached = kNoLevel;
    bool is_wanted =
        end == at + 1 && wanted[order_[at]] && !in_region_[order_[at]];
    for (size_t k = at; k < end; ++k) {
      for (const uint32_t* p = dependencies_.begin(order_[k]);
           p != dependencies_.end(order_[k]); ++p) {
        if (unit_[*p] == unit_[order_[at]] || level[*p] == kNoLevel) continue;
        const bool crosses = is_wanted && !(wanted[*p] && !in_region_[*p]);
        const uint32_t through = level[*p] + (crosses ? 1 : 0);
        if (reached == kNoLevel || through > reached) reached = through;
      }
    }
    if (is_wanted) {
      if (reached == kNoLevel) reached = 0;
      if (reached >= regions.size()) regions.resize(reached + 1);
      regions[reached].push_back(order_[at]);
    }
    for (size_t k = at; k < end; ++k) level[order_[k]] = reached;
    at = end;
  }
  regions.erase(std::remove_if(regions.begin(), regions.end(),
                               [](const auto& r) { return r.empty(); }),
                regions.end());
  for (auto& region : regions) std::sort(region.begin(), region.end());
  return regions;
}

void Cutter::Keep(const std::vector<std::vector<uint32_t>>& regions) {
  for (const std::vector<uint32_t>& region : regions) {
    for (const uint32_t i : region) {
      unit_[i] = region.front();
      in_region_[i] = true;
    }
  }
  Sort();
}

// Units in topological order, by a depth-first walk over predecessors that
// visits units in order of their first member.
void Cutter::Sort() {
  const uint32_t n = dependencies_.size();
  std::vector<std::vector<uint32_t>> members(n);
  for (uint32_t i = 0; i < n; ++i) members[unit_[i]].push_back(i);
  std::vector<bool> entered(n, false);
  struct Entry {
    uint32_t unit;
    size_t member = 0;
    const uint32_t* next = nullptr;
  };
  std::vector<Entry> stack;
  order_.clear();
  const auto push = [&](uint32_t unit) {
    if (entered[unit]) return;
    entered[unit] = true;
    stack.push_back({unit, 0, dependencies_.begin(members[unit][0])});
  };
  for (uint32_t i = 0; i < n; ++i) {
    push(unit_[i]);
    while (!stack.empty()) {
      Entry& top = stack.back();
      const std::vector<uint32_t>& m = members[top.unit];
      if (top.next == dependencies_.end(m[top.member])) {
        if (++top.member < m.size()) {
          top.next = dependencies_.begin(m[top.member]);
          continue;
        }
        order_.insert(order_.end(), m.begin(), m.end());
        stack.pop_back();
        continue;
      }
      push(unit_[*top.next++]);
    }
  }
}

}  // namespace tenon
