#include "partition/units.h"

#include <algorithm>
#include <numeric>

namespace tenon {
namespace {

constexpr uint32_t kNone = 0xFFFFFFFFu;

// Disjoint sets of positions; the smallest position stands for its set.
class Seeds {
 public:
  explicit Seeds(uint32_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  uint32_t Find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(uint32_t a, uint32_t b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

// Positions grouped by a key below `num_keys`, ascending inside a group.
struct Groups {
  Groups(const std::vector<uint32_t>& key_of, uint32_t num_keys)
      : starts(num_keys + 1, 0), items(key_of.size()) {
    for (const uint32_t key : key_of) ++starts[key + 1];
    for (uint32_t k = 0; k < num_keys; ++k) starts[k + 1] += starts[k];
    std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
    for (uint32_t i = 0; i < key_of.size(); ++i) items[next[key_of[i]]++] = i;
  }
  std::vector<uint32_t> starts, items;
};

// Strongly connected components of the graph whose nodes are seeds, numbered
// in topological order. Without recursion: chains are as long as programs.
class Components {
 public:
  Components(const Dependencies& dependencies,
             const std::vector<uint32_t>& seed_of)
      : dependencies_(dependencies),
        seed_of_(seed_of),
        members_(seed_of, static_cast<uint32_t>(seed_of.size())),
        entered_(seed_of.size(), kNone),
        lowest_(seed_of.size(), kNone),
        component_(seed_of.size(), kNone) {
    for (uint32_t i = 0; i < seed_of.size(); ++i) {
      if (seed_of[i] == i && entered_[i] == kNone) Walk(i);
    }
  }

  // By seed.
  uint32_t of(uint32_t seed) const { return component_[seed]; }
  uint32_t count() const { return num_components_; }

 private:
  struct Visit {
    uint32_t seed;
    uint32_t member;       // index into members_.items
    const uint32_t* edge;  // next predecessor of that member
  };

  void Enter(uint32_t seed) {
    entered_[seed] = lowest_[seed] = num_entered_++;
    open_.push_back(seed);
    const uint32_t first = members_.starts[seed];
    path_.push_back({seed, first, dependencies_.begin(members_.items[first])});
  }

  void Walk(uint32_t start) {
    Enter(start);
    while (!path_.empty()) {
      Visit& top = path_.back();
      if (top.edge != dependencies_.end(members_.items[top.member])) {
        Follow(seed_of_[*top.edge++], top.seed);
      } else if (++top.member < members_.starts[top.seed + 1]) {
        top.edge = dependencies_.begin(members_.items[top.member]);
      } else {
        Leave();
      }
    }
  }

  void Follow(uint32_t before, uint32_t seed) {
    if (entered_[before] == kNone) {
      Enter(before);
    } else if (component_[before] == kNone) {
      lowest_[seed] = std::min(lowest_[seed], entered_[before]);
    }
  }

  void Leave() {
    const uint32_t seed = path_.back().seed;
    path_.pop_back();
    if (!path_.empty()) {
      uint32_t& below = lowest_[path_.back().seed];
      below = std::min(below, lowest_[seed]);
    }
    if (lowest_[seed] != entered_[seed]) return;
    uint32_t member = kNone;
    while (member != seed) {
      member = open_.back();
      open_.pop_back();
      component_[member] = num_components_;
    }
    ++num_components_;
  }

  const Dependencies& dependencies_;
  const std::vector<uint32_t>& seed_of_;
  const Groups members_;
  std::vector<uint32_t> entered_, lowest_, component_;  // by seed
  std::vector<uint32_t> open_;
  std::vector<Visit> path_;
  uint32_t num_entered_ = 0, num_components_ = 0;
};

}  // namespace

Units::Units(const Dependencies& dependencies)
    : dependencies_(&dependencies),
      unit_of_(dependencies.size()),
      starts_(dependencies.size() + 1) {
  std::iota(unit_of_.begin(), unit_of_.end(), 0);
  std::iota(starts_.begin(), starts_.end(), 0);
  members_ = unit_of_;
}

void Units::Merge(std::span<const NodeSet> sets) {
  Seeds seeds(dependencies_->size());
  for (uint32_t u = 0; u < size(); ++u) {
    for (const uint32_t i : members(u)) seeds.Join(members(u)[0], i);
  }
  for (const NodeSet& set : sets) {
    for (const uint32_t i : set) seeds.Join(set[0], i);
  }
  std::vector<uint32_t> seed_of(dependencies_->size());
  for (uint32_t i = 0; i < seed_of.size(); ++i) seed_of[i] = seeds.Find(i);
  const Components components(*dependencies_, seed_of);
  for (uint32_t i = 0; i < seed_of.size(); ++i) {
    unit_of_[i] = components.of(seed_of[i]);
  }
  Groups groups(unit_of_, components.count());
  starts_ = std::move(groups.starts);
  members_ = std::move(groups.items);
  is_identity_ = false;
}

}  // namespace tenon
