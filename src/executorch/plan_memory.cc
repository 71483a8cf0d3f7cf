#include "executorch/plan_memory.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "memory/memory_plan.h"
#include "support/checked.h"

namespace tenon::executorch {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint32_t kArena = 1, kStateArena = 2;
constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

class LifetimeFinder {
 public:
  explicit LifetimeFinder(const PlanDraft& draft) : draft_(draft) {
    lifetimes_.resize(draft.blocks.size());
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      lifetimes_[i].size_bytes = draft.blocks[i].size_bytes;
      lifetimes_[i].first = kNever;
      lifetimes_[i].alignment = kAlignment;
    }
  }

  std::vector<Lifetime> Find() {
    const auto& instructions = draft_.plan.chains[0].instructions;
    const uint32_t end = draft_.next_instruction();
    for (const int32_t v : draft_.plan.inputs) Touch(v, 0);
    for (uint32_t i = 0; i < end; ++i) {
      std::visit([&](const auto& action) { TouchAll(action, i); },
                 instructions[i].action);
    }
    for (const int32_t v : draft_.plan.outputs) Touch(v, end);
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      Lifetime& life = lifetimes_[i];
      if (draft_.blocks[i].is_state) {
        life.first = 0;
        life.last = end;
      }
      if (life.first == kNever) life.first = life.last = 0;
    }
    // Inner loops come before those around them.
    for (const PlanLoop& loop : draft_.loops) Extend(loop);
    return std::move(lifetimes_);
  }

 private:
  void Touch(int32_t value, uint32_t at) {
    if (value < 0) return;
    const uint32_t block = draft_.block_of[static_cast<size_t>(value)];
    if (block == PlanDraft::kNoBlock) {
      TouchItems(value, at);
      return;
    }
    Lifetime& life = lifetimes_[block];
    life.first = std::min(life.first, at);
    life.last = std::max(life.last, at);
  }
  void TouchItems(int32_t value, uint32_t at) {
    const PteContent& content =
        draft_.plan.values[static_cast<size_t>(value)].content;
    if (const auto* list = std::get_if<PteTensorList>(&content)) {
      for (const int32_t item : list->items) Touch(item, at);
    } else if (const auto* some =
                   std::get_if<PteOptionalTensorList>(&content)) {
      for (const int32_t item : some->items) Touch(item, at);
    }
  }
  void TouchAll(const PteKernelCall& call, uint32_t at) {
    for (const int32_t v : call.args) Touch(v, at);
  }
  void TouchAll(const PteDelegateCall& call, uint32_t at) {
    for (const int32_t v : call.args) Touch(v, at);
  }
  void TouchAll(const PteMoveCall& move, uint32_t at) {
    Touch(move.from, at);
    Touch(move.to, at);
  }
  void TouchAll(const PteJumpFalseCall& jump, uint32_t at) {
    Touch(jump.condition, at);
  }
  void TouchAll(const PteFreeCall& free, uint32_t at) { Touch(free.value, at); }

  void Extend(const PlanLoop& loop) {
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      Lifetime& life = lifetimes_[i];
      const bool is_inside = life.first <= loop.end && life.last >= loop.begin;
      if (!is_inside) continue;
      if (draft_.blocks[i].outlives_turn) {
        life.first = std::min(life.first, loop.begin);
        life.last = std::max(life.last, loop.end);
      } else if (life.first < loop.begin) {
        life.last = std::max(life.last, loop.end);
      }
    }
  }

  const PlanDraft& draft_;
  std::vector<Lifetime> lifetimes_;
};

}  // namespace

std::vector<Lifetime> FindLifetimes(const PlanDraft& draft) {
  return LifetimeFinder(draft).Find();
}

Expected<uint64_t> PlaceBlocks(PlanDraft* draft,
                               std::optional<uint64_t> state_arena_bytes,
                               Diagnostics& diags) {
  std::vector<Lifetime> lifetimes = FindLifetimes(*draft);
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (draft->blocks[i].is_foreign) lifetimes[i].size_bytes = 0;
    if (lifetimes[i].size_bytes <= uint64_t{1} << 62) continue;
    return diags.Error(Rule::kPte15, Place::Node(draft->plan.name))
           << "a tensor's bytes don't fit 62 bits";
  }
  // State lies first: what lives all the time would only stand in the way of
  // others.
  uint64_t state_bytes = 0;
  std::vector<uint64_t> state_offsets(lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (!draft->blocks[i].is_state) continue;
    if (draft->blocks[i].state_offset) {
      state_offsets[i] = *draft->blocks[i].state_offset;
      lifetimes[i].size_bytes = 0;
      continue;
    }
    state_offsets[i] = state_bytes;
    const auto end = CheckedAdd(
        static_cast<int64_t>(state_bytes),
        static_cast<int64_t>(AlignUp(lifetimes[i].size_bytes, kAlignment)));
    if (!end) {
      return diags.Error(Rule::kPte15, Place::Node(draft->plan.name))
             << "the state's bytes don't fit 63 bits";
    }
    state_bytes = static_cast<uint64_t>(*end);
    lifetimes[i].size_bytes = 0;
  }
  TENON_ASSIGN(MemoryPlan layout, PlanMemory(lifetimes, {}, diags));
  const auto size = CheckedAdd(static_cast<int64_t>(state_bytes),
                               static_cast<int64_t>(layout.size_bytes));
  if (!size) {
    return diags.Error(Rule::kPte15, Place::Node(draft->plan.name))
           << "the tensors' bytes don't fit 63 bits";
  }
  layout.size_bytes = static_cast<uint64_t>(*size);
  layout.bound_bytes += state_bytes;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    layout.offsets[i] = draft->blocks[i].is_state
                            ? state_offsets[i]
                            : layout.offsets[i] + state_bytes;
  }
  for (size_t v = 0; v < draft->plan.values.size(); ++v) {
    const uint32_t block = draft->block_of[v];
    auto* tensor = std::get_if<PteTensor>(&draft->plan.values[v].content);
    if (tensor == nullptr || block == PlanDraft::kNoBlock) continue;
    if (draft->blocks[block].is_foreign) continue;
    const bool is_apart = draft->blocks[block].state_offset.has_value();
    tensor->allocation =
        PteAllocation{is_apart ? kStateArena : kArena, layout.offsets[block]};
  }
  draft->plan.arena_bytes = {
      0, static_cast<int64_t>(AlignUp(layout.size_bytes, kAlignment))};
  if (state_arena_bytes) {
    draft->plan.arena_bytes.push_back(static_cast<int64_t>(*state_arena_bytes));
    layout.bound_bytes += *state_arena_bytes;
  }
  return layout.bound_bytes;
}

}  // namespace tenon::executorch
