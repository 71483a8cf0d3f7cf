#include "passes/fold_plan.h"

#include <algorithm>
#include <numeric>

#include "ir/reach.h"

namespace tenon {
namespace {

using Kind = ConstantValue::Kind;

// Smaller tensors neither connect what reads them nor count as saved: one
// scalar that half of a program reads shouldn't decide about all of it. In a
// file each takes a place of this size anyway.
constexpr uint64_t kSmallBytes = 64;

class Planner {
 public:
  Planner(const Program& program, const ConstantValues& values,
          uint64_t max_growth_bytes)
      : program_(program),
        all_(values.all()),
        values_(values),
        growth_left_(static_cast<int64_t>(
            std::min<uint64_t>(max_growth_bytes, INT64_MAX))),
        is_needed_(all_.size(), false),
        goes_(all_.size(), false),
        group_(all_.size() + program.state.storages.size()) {
    std::iota(group_.begin(), group_.end(), 0u);
  }

  FoldPlan Run() {
    for (size_t i = all_.size(); i-- > 0;) FindNeed(i);
    for (size_t i = 0; i < all_.size(); ++i) Connect(i);
    CountGrowth();
    return Choose();
  }

 private:
  // No node computes it.
  bool IsGiven(size_t i) const {
    return all_[i].kind == Kind::kState || all_[i].kind == Kind::kPassed;
  }

  // As if all were folded: from the last value to the first, what something
  // needs that stays.
  void FindNeed(size_t i) {
    const ConstantValue& constant = all_[i];
    bool is_needed = is_needed_[i];  // by a detach_ that goes
    program_.ForEachUse(constant.value, [&](UseId u) {
      is_needed = is_needed || !Goes(program_.use(u).user);
    });
    is_needed_[i] = is_needed;
    if (IsGiven(i)) return;
    if (constant.kind == Kind::kSame) {
      const uint32_t operand = OperandsOf(i).front();
      if (is_needed) is_needed_[operand] = true;
    }
    // Results of one node stand side by side: the first is looked at last.
    const ValueRange results = program_.node(constant.node).results;
    if (constant.value != results[0]) return;
    bool stays = false;
    if (constant.kind == Kind::kView) {
      for (uint32_t r = 0; r < results.count; ++r) {
        stays = stays || is_needed_[i + r];
      }
    }
    for (uint32_t r = 0; r < results.count; ++r) goes_[i + r] = !stays;
  }

  bool Goes(NodeId n) const {
    const ValueRange results = program_.node(n).results;
    if (results.empty()) return false;
    const uint32_t at = values_.Find(results[0]);
    return at != ConstantValues::kNone && !IsGiven(at) && goes_[at];
  }

  std::vector<uint32_t> OperandsOf(size_t i) const {
    std::vector<uint32_t> out;
    program_.ForEachOperand(all_[i].node,
                            [&](ValueId v) { out.push_back(values_.Find(v)); });
    return out;
  }

  uint32_t GroupOf(uint32_t i) {
    while (group_[i] != i) i = group_[i] = group_[group_[i]];
    return i;
  }
  // The smaller position stays the root.
  void Join(uint32_t a, uint32_t b) {
    a = GroupOf(a);
    b = GroupOf(b);
    group_[std::max(a, b)] = std::min(a, b);
  }

  uint64_t StorageBytes(StorageId storage) const {
    return program_.state.storage(storage).bytes.size();
  }
  uint32_t StoragePlace(StorageId storage) const {
    return static_cast<uint32_t>(all_.size()) + storage.index;
  }

  void Connect(size_t i) {
    const ConstantValue& constant = all_[i];
    if (IsGiven(i)) return;
    const auto self = static_cast<uint32_t>(i);
    const ValueRange results = program_.node(constant.node).results;
    if (constant.value != results[0]) Join(self, self - 1);
    for (const uint32_t operand : OperandsOf(i)) {
      if (!IsGiven(operand)) Join(self, operand);
      if (all_[operand].kind != Kind::kState) continue;
      const StorageId storage = program_.state.get(all_[operand].state).storage;
      if (StorageBytes(storage) > kSmallBytes) {
        Join(self, StoragePlace(storage));
      }
    }
  }

  void CountGrowth() {
    growth_.assign(group_.size(), 0);
    has_computed_.assign(group_.size(), false);
    for (uint32_t i = 0; i < all_.size(); ++i) {
      if (all_[i].kind != Kind::kComputed) continue;
      has_computed_[GroupOf(i)] = true;
      if (!is_needed_[i]) continue;
      growth_[GroupOf(i)] += static_cast<int64_t>(
          ReachBytes(program_.type(all_[i].value)).value_or(0));
    }
    for (const StorageId storage : FreedStorages()) {
      growth_[GroupOf(StoragePlace(storage))] -=
          static_cast<int64_t>(StorageBytes(storage));
    }
  }

  // Storages of constants that nothing reads any more if all is folded.
  std::vector<StorageId> FreedStorages() const {
    const StateTable& state = program_.state;
    std::vector<bool> is_read(state.entries.size(), false);
    std::vector<bool> is_reference(state.entries.size(), false);
    const auto read = [&](StateId id, ValueId v) {
      const uint32_t at = values_.Find(v);
      is_reference[id.index] = true;
      // What nothing reads today isn't what folding frees.
      if (at == ConstantValues::kNone || is_needed_[at] ||
          program_.value(v).num_uses == 0) {
        is_read[id.index] = true;
      }
    };
    for (size_t i = 0; i < program_.root().inputs.size(); ++i) {
      const StateId id = program_.signature.inputs[i].state;
      if (id.valid()) read(id, program_.root().inputs[i]);
    }
    for (uint32_t g = 0; g < program_.num_graphs(); ++g) {
      if (program_.graph(GraphId(g)).is_erased) continue;
      for (const NodeId n : program_.nodes(GraphId(g))) {
        const Node& node = program_.node(n);
        if (node.kind == NodeKind::kGetState) {
          read(node.state, node.results[0]);
        }
      }
    }
    std::vector<bool> stays(state.storages.size(), false);
    std::vector<bool> is_seen(state.storages.size(), false);
    for (size_t i = 0; i < state.entries.size(); ++i) {
      const StorageId storage = state.entries[i].storage;
      if (!storage.valid()) continue;
      is_seen[storage.index] = true;
      if (state.entries[i].kind != StateKind::kConstant || is_read[i] ||
          !is_reference[i]) {
        stays[storage.index] = true;
      }
    }
    std::vector<StorageId> out;
    for (uint32_t s = 0; s < stays.size(); ++s) {
      if (is_seen[s] && !stays[s] && StorageBytes(StorageId(s)) > kSmallBytes) {
        out.push_back(StorageId(s));
      }
    }
    return out;
  }

  FoldPlan Choose() {
    FoldPlan plan;
    plan.goes.assign(all_.size(), false);
    plan.is_kept.assign(all_.size(), false);
    enum Verdict : uint8_t { kOpen, kFold, kLeave };
    std::vector<uint8_t> verdicts(group_.size(), kOpen);
    for (uint32_t i = 0; i < all_.size(); ++i) {
      if (IsGiven(i)) continue;
      const uint32_t g = GroupOf(i);
      if (verdicts[g] == kOpen) {
        const bool fits = has_computed_[g] && growth_[g] <= growth_left_;
        verdicts[g] = fits ? kFold : kLeave;
        if (fits && growth_[g] > 0) growth_left_ -= growth_[g];
      }
      if (verdicts[g] == kLeave) continue;
      plan.goes[i] = goes_[i];
      plan.is_kept[i] = all_[i].kind == Kind::kComputed && is_needed_[i];
    }
    return plan;
  }

  const Program& program_;
  const std::vector<ConstantValue>& all_;
  const ConstantValues& values_;
  int64_t growth_left_;
  std::vector<bool> is_needed_, goes_;  // by position in all_
  // Union-find over positions in all_, storages behind them.
  std::vector<uint32_t> group_;
  std::vector<int64_t> growth_;     // by group: bytes that folding it adds
  std::vector<bool> has_computed_;  // by group
};

}  // namespace

FoldPlan PlanFolding(const Program& program, const ConstantValues& values,
                     uint64_t max_growth_bytes) {
  return Planner(program, values, max_growth_bytes).Run();
}

}  // namespace tenon
