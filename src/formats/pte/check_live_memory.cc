// W-PTE-02: what is still needed isn't overwritten.
//
// A plan gives tensors memory for a part of the method only; two that are
// needed at the same time must not share any. Whether they do can't be seen
// from the plan, only from the instructions:
//
//   * A value is live where an instruction that may come later reads it. That
//     is computed backwards over blocks of instructions, to a fixed point, so
//     jumps in both directions count. The end of the method leads to its begin:
//     what is read before it is written is state, and lives through all calls.
//   * A move or a dynamic view makes one value stand for the memory of another;
//     a value may stand for several, one for each branch of a conditional.
//   * A tensor that nothing writes and that lies exactly where others do is a
//     view of whichever was written last.
//
// Where an instruction writes memory in which another live value lies, that is
// reported once for each pair. So is a result that lies partly over an argument
// of the same instruction; exactly over it is how kernels work in place.
#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "formats/pte/checks.h"
#include "formats/pte/delegate_arity.h"

namespace tenon::pte {
namespace {

// Bounds against hostile programs: bits for all values at the begin of all
// blocks, rounds until liveness settles, steps over lists, aliases and live
// values. A program that exceeds one isn't checked, which is reported.
constexpr uint64_t kMaxBits = uint64_t{1} << 27;
constexpr int kMaxRounds = 64;
constexpr uint64_t kMaxSteps = uint64_t{1} << 26;

struct Slot {
  uint32_t arena = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  friend bool operator<(const Slot& a, const Slot& b) {
    return std::pair(a.arena, a.begin) < std::pair(b.arena, b.begin);
  }
};

// What an instruction does to values.
struct Effect {
  std::vector<int32_t> reads;
  std::vector<int32_t> writes;  // whole values
  std::vector<int32_t> adds;    // parts of values
  int32_t alias_to = -1;        // from here on stands for alias_from
  int32_t alias_from = -1;
};

class Effects {
 public:
  Effects(const PlanCheck& check, const PteChain& chain) : check_(check) {
    is_touched_.resize(check.plan.values.size());
    for (const int32_t input : check.plan.inputs) is_touched_[input] = true;
    effects_.resize(chain.instructions.size());
    for (size_t i = 0; i < effects_.size(); ++i) {
      effect_ = &effects_[i];
      std::visit([&](const auto& a) { Add(a); }, chain.instructions[i].action);
      for (const int32_t v : effect_->reads) is_touched_[v] = true;
      for (const int32_t v : effect_->writes) is_touched_[v] = true;
    }
  }

  // Empty when the instructions name more values than can be looked at.
  std::vector<Effect> Take() {
    return steps_ > kMaxSteps ? std::vector<Effect>() : std::move(effects_);
  }

 private:
  // Calls visit(index) for the tensors that a value is or holds.
  template <typename Visit>
  void ForEachTensor(int32_t value, Visit&& visit) {
    const PteContent& content = check_.plan.values[value].content;
    if (std::holds_alternative<PteTensor>(content)) visit(value);
    if (const auto* list = std::get_if<PteTensorList>(&content)) {
      steps_ += list->items.size();
      if (steps_ > kMaxSteps) return;
      for (const int32_t item : list->items) visit(item);
    }
    if (const auto* list = std::get_if<PteOptionalTensorList>(&content)) {
      steps_ += list->items.size();
      if (steps_ > kMaxSteps) return;
      for (const int32_t item : list->items) {
        if (item != PteOptionalTensorList::kNone) visit(item);
      }
    }
  }

  void Add(const PteKernelCall& call) {
    const PteKernel* kernel = check_.kernels[call.operator_index];
    if (kernel == nullptr) return AddUnknown(call.args);
    if (kernel->name == "executorch_prim::et_view.default") {
      effect_->alias_from = call.args[0];
      effect_->alias_to = call.args[2];
      return;
    }
    const auto& args = kernel->schema.args;
    const bool is_partial = kernel->library == "runtime";
    for (size_t i = 0; i < args.size(); ++i) {
      ForEachTensor(call.args[i], [&](int32_t v) {
        if (!args[i].is_written) {
          effect_->reads.push_back(v);
        } else if (is_partial) {
          effect_->adds.push_back(v);
        } else {
          // What is changed in place is read, too; an out tensor isn't.
          if (!args[i].keyword_only) effect_->reads.push_back(v);
          effect_->writes.push_back(v);
        }
      });
    }
  }

  void Add(const PteDelegateCall& call) {
    const auto num_outputs = NumDelegateOutputs(
        check_.program, check_.plan.delegates[call.delegate_index]);
    if (!num_outputs || *num_outputs > call.args.size()) {
      return AddUnknown(call.args);
    }
    const size_t num_inputs = call.args.size() - *num_outputs;
    for (size_t i = 0; i < call.args.size(); ++i) {
      ForEachTensor(call.args[i], [&](int32_t v) {
        (i < num_inputs ? effect_->reads : effect_->writes).push_back(v);
      });
    }
  }
  void Add(const PteMoveCall& move) {
    effect_->alias_from = move.from;
    effect_->alias_to = move.to;
  }
  void Add(const PteJumpFalseCall& jump) {
    ForEachTensor(jump.condition,
                  [&](int32_t v) { effect_->reads.push_back(v); });
  }
  void Add(const PteFreeCall&) {}

  // Nothing says which arguments are results: those that no earlier instruction
  // and no caller gave a value.
  void AddUnknown(const std::vector<int32_t>& args) {
    for (const int32_t arg : args) {
      ForEachTensor(arg, [&](int32_t v) {
        const bool has_value =
            is_touched_[v] || check_.Tensor(v)->data_index > 0;
        (has_value ? effect_->reads : effect_->writes).push_back(v);
      });
    }
  }

  const PlanCheck& check_;
  std::vector<bool> is_touched_;  // by value
  std::vector<Effect> effects_;
  Effect* effect_ = nullptr;
  uint64_t steps_ = 0;
};

using LiveSet = std::vector<bool>;  // by value

class LiveMemoryCheck {
 public:
  LiveMemoryCheck(const PlanCheck& check, size_t chain)
      : check_(check),
        chain_(chain),
        instructions_(check.plan.chains[chain].instructions),
        num_values_(check.plan.values.size()) {}

  void Check() {
    effects_ = Effects(check_, check_.plan.chains[chain_]).Take();
    const bool is_checked = effects_.size() == instructions_.size() &&
                            FindSlots() && FindBlocks() && FindViews() &&
                            FindLive() && CheckAll();
    if (is_checked) return;
    check_.diags.Warning(Rule::kLintPte02, check_.Here())
        << "not checked to the end: " << instructions_.size()
        << " instructions on " << num_values_ << " values are too much for it";
  }

 private:
  bool CheckAll() {
    for (size_t b = 0; b < block_begins_.size(); ++b) CheckBlock(b);
    CheckInputs();
    return steps_ <= kMaxSteps;
  }

  // --- memory ---------------------------------------------------------------

  // Where each value may lie: its own place, or those of what it stands for.
  bool FindSlots() {
    slots_.resize(num_values_);
    std::vector<bool> is_alias(num_values_);
    for (const Effect& e : effects_) {
      if (e.alias_to >= 0) is_alias[e.alias_to] = true;
    }
    for (size_t v = 0; v < num_values_; ++v) {
      const PteTensor* t = check_.plan.values[v].tensor();
      if (t == nullptr || !t->allocation || is_alias[v]) continue;
      const uint64_t bytes = *TensorBytes(t->type, t->sizes);
      const PteAllocation& at = *t->allocation;
      if (bytes > 0) {
        slots_[v].insert({at.memory_id, at.offset, at.offset + bytes});
        max_slot_bytes_ = std::max(max_slot_bytes_, bytes);
      }
    }
    return FollowAliases();
  }

  bool FollowAliases() {
    std::vector<std::vector<int32_t>> aliases(num_values_);
    for (const Effect& e : effects_) {
      if (e.alias_to >= 0) aliases[e.alias_from].push_back(e.alias_to);
    }
    std::vector<std::pair<int32_t, Slot>> found;
    for (size_t v = 0; v < num_values_; ++v) {
      for (const Slot& slot : slots_[v]) found.push_back({v, slot});
    }
    while (!found.empty()) {
      const auto [v, slot] = found.back();
      found.pop_back();
      steps_ += aliases[v].size();
      if (steps_ > kMaxSteps) return false;
      for (const int32_t to : aliases[v]) {
        if (slots_[to].insert(slot).second) found.push_back({to, slot});
      }
    }
    return true;
  }

  // Tensors that nothing gives a value, by the place where they lie.
  bool FindViews() {
    std::vector<bool> is_defined(num_values_);
    for (const int32_t input : check_.plan.inputs) is_defined[input] = true;
    for (const Effect& e : effects_) {
      for (const int32_t v : e.writes) is_defined[v] = true;
      for (const int32_t v : e.adds) is_defined[v] = true;
      if (e.alias_to >= 0) is_defined[e.alias_to] = true;
    }
    for (size_t v = 0; v < num_values_; ++v) {
      const PteTensor* t = check_.plan.values[v].tensor();
      if (is_defined[v] || slots_[v].empty() || t->data_index > 0) continue;
      views_.insert({*slots_[v].begin(), static_cast<int32_t>(v)});
    }
    return true;
  }

  // Calls visit(view) for the views that a write of `v` gives their value.
  template <typename Visit>
  void ForEachView(int32_t v, Visit&& visit) const {
    for (const Slot& slot : slots_[v]) {
      for (auto it = views_.lower_bound({slot, -1});
           it != views_.end() && !(slot < it->first); ++it) {
        visit(it->second);
      }
    }
  }

  // --- liveness -------------------------------------------------------------

  bool FindBlocks() {
    const size_t end = instructions_.size();
    std::vector<bool> is_begin(end + 1);
    is_begin[0] = is_begin[end] = true;
    for (size_t i = 0; i < end; ++i) {
      const auto* jump =
          std::get_if<PteJumpFalseCall>(&instructions_[i].action);
      if (jump == nullptr) continue;
      is_begin[i + 1] = is_begin[jump->target] = true;
    }
    block_of_.resize(end + 1);
    for (size_t i = 0; i <= end; ++i) {
      if (is_begin[i]) block_begins_.push_back(i);
      block_of_[i] = block_begins_.size() - 1;
    }
    begins_anew_.resize(block_begins_.size());
    FindLoopResults();
    return block_begins_.size() * uint64_t{num_values_} <= kMaxBits;
  }

  // A value that is written part by part in a loop begins where the loop does.
  void FindLoopResults() {
    std::vector<std::pair<size_t, size_t>> loops;  // first, last instruction
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const auto* jump =
          std::get_if<PteJumpFalseCall>(&instructions_[i].action);
      if (jump != nullptr && static_cast<size_t>(jump->target) <= i) {
        loops.push_back({jump->target, i});
      }
    }
    std::sort(loops.begin(), loops.end());
    std::set<std::pair<size_t, size_t>> open;
    size_t next = 0;
    for (size_t i = 0; i < effects_.size(); ++i) {
      while (next < loops.size() && loops[next].first <= i) {
        open.insert(loops[next++]);
      }
      while (!open.empty() && open.begin()->second < i) {
        open.erase(open.begin());
      }
      if (effects_[i].adds.empty()) continue;
      const size_t first = open.empty() ? i : open.begin()->first;
      auto& values = begins_anew_[block_of_[first]];
      values.insert(values.end(), effects_[i].adds.begin(),
                    effects_[i].adds.end());
    }
  }

  size_t EndOf(size_t block) const {
    return block + 1 < block_begins_.size() ? block_begins_[block + 1]
                                            : instructions_.size();
  }

  // From what is live behind the instruction to what is live before it.
  void StepBack(const Effect& e, LiveSet* live) const {
    if (e.alias_to >= 0 && (*live)[e.alias_to]) {
      (*live)[e.alias_to] = false;
      (*live)[e.alias_from] = true;
    }
    for (const int32_t v : e.writes) {
      (*live)[v] = false;
      ForEachView(v, [&](int32_t view) { (*live)[view] = false; });
    }
    for (const int32_t v : e.adds) (*live)[v] = true;
    for (const int32_t v : e.reads) (*live)[v] = true;
  }

  // What is live behind the block's last instruction.
  LiveSet LiveBehind(size_t block) const {
    LiveSet live(num_values_);
    const auto add = [&](const LiveSet& other) {
      for (size_t v = 0; v < num_values_; ++v) live[v] = live[v] || other[v];
    };
    const size_t end = EndOf(block);
    if (block + 1 == block_begins_.size()) {
      // The method's end: the results, and what the next call finds.
      add(live_[0]);
      for (const int32_t input : check_.plan.inputs) {
        live[input] = false;
        ForEachView(input, [&](int32_t view) { live[view] = false; });
      }
      for (const int32_t output : check_.plan.outputs) live[output] = true;
      return live;
    }
    add(live_[block + 1]);
    for (const int32_t v : begins_anew_[block + 1]) live[v] = false;
    if (const auto* jump =
            std::get_if<PteJumpFalseCall>(&instructions_[end - 1].action)) {
      add(live_[block_of_[jump->target]]);
    }
    return live;
  }

  bool FindLive() {
    live_.assign(block_begins_.size(), LiveSet(num_values_));
    bool has_changed = true;
    for (int round = 0; round < kMaxRounds && has_changed; ++round) {
      has_changed = false;
      for (size_t b = block_begins_.size(); b-- > 0;) {
        LiveSet live = LiveBehind(b);
        for (size_t i = EndOf(b); i-- > block_begins_[b];) {
          StepBack(effects_[i], &live);
        }
        if (live == live_[b]) continue;
        live_[b] = std::move(live);
        has_changed = true;
      }
    }
    return !has_changed;
  }

  // --- conflicts ------------------------------------------------------------

  void Occupy(int32_t v) {
    for (const Slot& slot : slots_[v]) occupied_.insert({slot, v});
  }
  void Vacate(int32_t v) {
    for (const Slot& slot : slots_[v]) occupied_.erase({slot, v});
  }

  // Calls visit(other) for what occupies memory of `v`.
  template <typename Visit>
  void ForEachConflict(int32_t v, Visit&& visit) {
    for (const Slot& slot : slots_[v]) {
      const uint64_t first =
          slot.begin > max_slot_bytes_ ? slot.begin - max_slot_bytes_ : 0;
      for (auto it = occupied_.lower_bound({Slot{slot.arena, first, 0}, -1});
           it != occupied_.end() && it->first.arena == slot.arena &&
           it->first.begin < slot.end && steps_ <= kMaxSteps;
           ++it, ++steps_) {
        if (it->first.end > slot.begin && it->second != v) visit(it->second);
      }
    }
  }

  bool IsViewOf(int32_t view, int32_t v) const {
    bool is_view = false;
    ForEachView(v, [&](int32_t other) { is_view |= other == view; });
    return is_view;
  }

  void CheckWrite(int32_t v, const Place& place) {
    ForEachConflict(v, [&](int32_t other) {
      if (IsViewOf(other, v) || !reported_.insert({v, other}).second) return;
      check_.diags.Warning(Rule::kLintPte02, place)
          << "writes value " << v << " over value " << other
          << ", which is read later";
    });
  }

  static bool AreShifted(const Slot& a, const Slot& b) {
    return a.arena == b.arena && a.begin != b.begin && a.begin < b.end &&
           b.begin < a.end;
  }

  void CheckOwnArguments(const Effect& e, const Place& place) {
    for (const int32_t v : e.writes) {
      for (const int32_t read : e.reads) {
        const bool are_shifted =
            std::any_of(slots_[v].begin(), slots_[v].end(), [&](const Slot& a) {
              return std::any_of(
                  slots_[read].begin(), slots_[read].end(),
                  [&](const Slot& b) { return AreShifted(a, b); });
            });
        if (!are_shifted || !reported_.insert({v, read}).second) continue;
        check_.diags.Warning(Rule::kLintPte02, place)
            << "writes value " << v << " over a part of value " << read
            << ", which it reads";
      }
    }
  }

  void CheckBlock(size_t block) {
    LiveSet live = LiveBehind(block);
    occupied_.clear();
    for (size_t v = 0; v < num_values_; ++v) {
      if (live[v]) Occupy(static_cast<int32_t>(v));
    }
    for (size_t i = EndOf(block); i-- > block_begins_[block];) {
      const Effect& e = effects_[i];
      for (const int32_t v : e.writes) Occupy(v);
      const Place place = check_.InstructionPlace(chain_, i);
      for (const int32_t v : e.writes) CheckWrite(v, place);
      for (const int32_t v : e.adds) CheckWrite(v, place);
      CheckOwnArguments(e, place);
      StepBack(e, &live);
      UpdateOccupied(e, live);
    }
  }

  void UpdateOccupied(const Effect& e, const LiveSet& live) {
    const auto update = [&](int32_t v) { live[v] ? Occupy(v) : Vacate(v); };
    for (const int32_t v : e.writes) {
      update(v);
      ForEachView(v, update);
    }
    for (const int32_t v : e.adds) update(v);
    for (const int32_t v : e.reads) update(v);
    if (e.alias_to >= 0) {
      update(e.alias_to);
      update(e.alias_from);
    }
  }

  // The caller's arguments are copied in before the first instruction.
  void CheckInputs() {
    occupied_.clear();
    for (size_t v = 0; v < num_values_; ++v) {
      if (live_[0][v]) Occupy(static_cast<int32_t>(v));
    }
    for (const int32_t input : check_.plan.inputs) {
      if (check_.Tensor(input) != nullptr) CheckWrite(input, check_.Here());
    }
  }

  const PlanCheck& check_;
  const size_t chain_;
  const std::vector<PteInstruction>& instructions_;
  const size_t num_values_;
  std::vector<Effect> effects_;
  std::vector<std::set<Slot>> slots_;  // by value
  uint64_t max_slot_bytes_ = 0;
  uint64_t steps_ = 0;
  std::set<std::pair<Slot, int32_t>> views_;
  std::vector<size_t> block_begins_;  // the last one is empty: the end
  std::vector<size_t> block_of_;      // by instruction
  std::vector<std::vector<int32_t>> begins_anew_;  // by block
  std::vector<LiveSet> live_;                      // at the begin of blocks
  std::set<std::pair<Slot, int32_t>> occupied_;    // by what is live
  std::set<std::pair<int32_t, int32_t>> reported_;
};

}  // namespace

void CheckLiveMemory(const PlanCheck& check) {
  for (size_t chain = 0; chain < check.plan.chains.size(); ++chain) {
    LiveMemoryCheck(check, chain).Check();
  }
}

}  // namespace tenon::pte
