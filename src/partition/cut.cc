#include "partition/cut.h"

#include <algorithm>
#include <array>

namespace tenon {
namespace {

// A region's number; kOutside for what is in none.
using Level = int32_t;
constexpr Level kOutside = -1;

// Looking further than this at one node doesn't pay, and would make the cut of
// a value with a million users quadratic.
constexpr uint32_t kMaxOperands = 32;
constexpr uint32_t kMaxUses = 16;

class LevelCut {
 public:
  LevelCut(const Program& program, const Units& units,
           const std::vector<bool>& wanted)
      : program_(program),
        units_(units),
        dependencies_(units.dependencies()),
        wanted_(wanted),
        level_(units.size()) {}

  void SetLowestLevels() {
    for (uint32_t u = 0; u < units_.size(); ++u) {
      const bool is_wanted = IsWanted(u);
      Level level = is_wanted ? 0 : kOutside;
      ForEachPredecessor(u, [&](uint32_t p, uint32_t before) {
        const bool comes_back = is_wanted && !wanted_[p];
        level = std::max(level, level_[before] + (comes_back ? 1 : 0));
      });
      level_[u] = level;
      if (is_wanted) num_levels_ = std::max(num_levels_, level + 1);
    }
  }

  void MoveToUsers(BoundaryBytes* bytes) {
    if (num_levels_ < 2) return;
    std::vector<Level> highest(units_.size(), num_levels_ - 1);
    for (uint32_t u = units_.size(); u-- > 0;) {
      const bool is_wanted = IsWanted(u);
      if (is_wanted && highest[u] > level_[u] &&
          units_.members(u).size() == 1 &&
          BytesAdded(units_.members(u)[0], level_[u], highest[u], bytes) <= 0) {
        level_[u] = highest[u];
      }
      const Level limit = is_wanted ? level_[u] : highest[u];
      ForEachPredecessor(u, [&](uint32_t p, uint32_t before) {
        const bool comes_back = is_wanted && !wanted_[p];
        highest[before] =
            std::min(highest[before], limit - (comes_back ? 1 : 0));
      });
    }
  }

  std::vector<NodeSet> Regions() const {
    std::vector<uint32_t> sizes(static_cast<size_t>(num_levels_), 0);
    for (uint32_t u = 0; u < units_.size(); ++u) {
      if (!IsWanted(u)) continue;
      sizes[static_cast<size_t>(level_[u])] +=
          static_cast<uint32_t>(units_.members(u).size());
    }
    std::vector<NodeSet> regions(sizes.size());
    for (size_t r = 0; r < sizes.size(); ++r) regions[r].reserve(sizes[r]);
    for (uint32_t i = 0; i < dependencies_.size(); ++i) {
      if (!wanted_[i]) continue;
      regions[static_cast<size_t>(level_[units_.of(i)])].push_back(i);
    }
    return regions;
  }

 private:
  bool IsWanted(uint32_t unit) const {
    return wanted_[units_.members(unit)[0]];
  }

  // visit(position, unit) for each predecessor in another unit.
  template <typename Visit>
  void ForEachPredecessor(uint32_t unit, Visit&& visit) const {
    for (const uint32_t i : units_.members(unit)) {
      for (const uint32_t* p = dependencies_.begin(i);
           p != dependencies_.end(i); ++p) {
        const uint32_t before = units_.of(*p);
        if (before != unit) visit(*p, before);
      }
    }
  }

  Level RegionOf(NodeId n) const {
    if (!n.valid()) return kOutside;  // a graph input
    const uint32_t i = dependencies_.position(n);
    if (i >= dependencies_.size() || !wanted_[i]) return kOutside;
    return level_[units_.of(i)];
  }

  // Who uses a value, apart from one node.
  struct Users {
    bool is_complete = true;  // false: there are more than were looked at
    bool has_low = false, has_high = false, has_other = false;
  };
  Users UsersOf(ValueId v, NodeId except, Level low, Level high) const {
    Users users;
    uint32_t num_seen = 0;
    for (UseId u = program_.value(v).first_use; u.valid();
         u = program_.use(u).next) {
      if (++num_seen > kMaxUses) {
        users.is_complete = false;
        break;
      }
      const NodeId user = program_.use(u).user;
      if (user == except) continue;
      const Level level = RegionOf(user);
      users.has_low |= level == low;
      users.has_high |= level == high;
      users.has_other |= level != low && level != high;
    }
    return users;
  }

  // By how much the bytes over all boundaries grow when the node at position
  // `i` goes from region `low` up to `high`. Where not all uses were looked at,
  // the answer is on the high side.
  int64_t BytesAdded(uint32_t i, Level low, Level high,
                     BoundaryBytes* bytes) const {
    const NodeId n = dependencies_.nodes()[i];
    int64_t added = 0;
    std::array<ValueId, kMaxOperands> operands;
    uint32_t num_operands = 0;
    program_.ForEachOperand(n, [&](ValueId v) {
      if (num_operands > kMaxOperands) return;
      auto* const end = operands.begin() + num_operands;
      if (std::find(operands.begin(), end, v) != end) return;
      if (num_operands == kMaxOperands) {
        ++num_operands;
        return;
      }
      operands[num_operands++] = v;
      const int64_t b = bytes->Of(v);
      if (b == 0) return;
      const Users users = UsersOf(v, n, low, high);
      if (RegionOf(program_.value(v).def) == low) {
        // It becomes an output of one and an input of the other.
        if (!users.has_high && !users.has_other) added += b;
        if (!users.has_high) added += b;
        return;
      }
      if (!users.has_low && users.is_complete) added -= b;
      if (!users.has_high) added += b;
    });
    if (num_operands > kMaxOperands) return 1;
    const ValueRange results = program_.node(n).results;
    for (uint32_t r = 0; r < results.count && r < kMaxOperands; ++r) {
      const Users users = UsersOf(results[r], n, low, high);
      const int64_t b = bytes->Of(results[r]);
      if (!users.has_high) continue;
      added -= b;
      if (!users.has_other && users.is_complete) added -= b;
    }
    return added;
  }

  const Program& program_;
  const Units& units_;
  const Dependencies& dependencies_;
  const std::vector<bool>& wanted_;
  // By unit: a wanted one's region; else the last region before it.
  std::vector<Level> level_;
  Level num_levels_ = 0;
};

}  // namespace

std::vector<NodeSet> CutIntoRegions(const Program& program, const Units& units,
                                    const std::vector<bool>& wanted,
                                    BoundaryBytes* bytes) {
  LevelCut cut(program, units, wanted);
  cut.SetLowestLevels();
  if (bytes != nullptr) cut.MoveToUsers(bytes);
  return cut.Regions();
}

}  // namespace tenon
