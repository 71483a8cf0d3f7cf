#include "executorch/plan_memory.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "memory/memory_plan.h"
#include "support/checked.h"

namespace tenon::executorch {
namespace {

constexpr uint64_t kAlignment = 16;
// What TensorRT asks of the addresses that it binds.
constexpr uint64_t kDeviceAlignment = 256;

uint64_t AlignmentOf(const MemoryBlock& block) {
  return block.device == MemoryBlock::kHost ? kAlignment : kDeviceAlignment;
}

constexpr uint32_t kStateArena = 2;
constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

class LifetimeFinder {
 public:
  explicit LifetimeFinder(const PlanDraft& draft) : draft_(draft) {
    lifetimes_.resize(draft.blocks.size());
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      lifetimes_[i].size_bytes = draft.blocks[i].size_bytes;
      lifetimes_[i].first = kNever;
      lifetimes_[i].alignment = AlignmentOf(draft.blocks[i]);
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

// Gives the blocks of one device an arena, the plan's next one.
class ArenaPlacer {
 public:
  ArenaPlacer(PlanDraft* draft, std::vector<Lifetime> lifetimes, int8_t device,
              Diagnostics& diags)
      : draft_(*draft),
        lifetimes_(std::move(lifetimes)),
        device_(device),
        diags_(diags) {}

  // Returns what no arena of them can be smaller than.
  Expected<uint64_t> Place() {
    std::vector<uint64_t> state_offsets(lifetimes_.size());
    TENON_ASSIGN(const uint64_t state_bytes, PlaceState(&state_offsets));
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      if (!IsHere(i) || draft_.blocks[i].is_state) lifetimes_[i].size_bytes = 0;
    }
    TENON_ASSIGN(const MemoryPlan layout, PlanMemory(lifetimes_, {}, diags_));
    const auto size = CheckedAdd(static_cast<int64_t>(state_bytes),
                                 static_cast<int64_t>(layout.size_bytes));
    if (!size) return Overflow();
    const auto arena = static_cast<uint32_t>(draft_.plan.arena_bytes.size());
    for (size_t v = 0; v < draft_.plan.values.size(); ++v) {
      const uint32_t block = draft_.block_of[v];
      auto* tensor = std::get_if<PteTensor>(&draft_.plan.values[v].content);
      if (tensor == nullptr || block == PlanDraft::kNoBlock) continue;
      if (!IsHere(block)) continue;
      const uint64_t offset = draft_.blocks[block].is_state
                                  ? state_offsets[block]
                                  : layout.offsets[block] + state_bytes;
      const bool is_apart = draft_.blocks[block].state_offset.has_value();
      tensor->allocation =
          PteAllocation{is_apart ? kStateArena : arena, offset};
    }
    draft_.plan.arena_bytes.push_back(static_cast<int64_t>(
        AlignUp(static_cast<uint64_t>(*size), kAlignment)));
    if (device_ != MemoryBlock::kHost) {
      draft_.plan.arena_devices.push_back(
          {static_cast<int32_t>(arena), PteDevice::kCuda, device_});
    }
    return layout.bound_bytes + state_bytes;
  }

 private:
  bool IsHere(size_t block) const {
    return !draft_.blocks[block].is_foreign &&
           draft_.blocks[block].device == device_;
  }

  // State lies first: what lives all the time would only stand in the way of
  // others.
  Expected<uint64_t> PlaceState(std::vector<uint64_t>* offsets) const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      if (!IsHere(i) || !draft_.blocks[i].is_state) continue;
      if (draft_.blocks[i].state_offset) {
        (*offsets)[i] = *draft_.blocks[i].state_offset;
        continue;
      }
      (*offsets)[i] = bytes;
      const auto end = CheckedAdd(
          static_cast<int64_t>(bytes),
          static_cast<int64_t>(AlignUp(lifetimes_[i].size_bytes,
                                       AlignmentOf(draft_.blocks[i]))));
      if (!end) return Overflow();
      bytes = static_cast<uint64_t>(*end);
    }
    return bytes;
  }

  Failure Overflow() const {
    diags_.Error(Rule::kPte15, Place::Node(draft_.plan.name))
        << "the tensors' bytes don't fit 63 bits";
    return Failure{};
  }

  PlanDraft& draft_;
  std::vector<Lifetime> lifetimes_;
  const int8_t device_;
  Diagnostics& diags_;
};

}  // namespace

std::vector<Lifetime> FindLifetimes(const PlanDraft& draft) {
  return LifetimeFinder(draft).Find();
}

Expected<uint64_t> PlaceBlocks(PlanDraft* draft,
                               std::optional<uint64_t> state_arena_bytes,
                               Diagnostics& diags) {
  const std::vector<Lifetime> lifetimes = FindLifetimes(*draft);
  std::set<int8_t> devices;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const MemoryBlock& block = draft->blocks[i];
    if (!block.is_foreign) devices.insert(block.device);
    if (block.is_foreign || lifetimes[i].size_bytes <= uint64_t{1} << 62) {
      continue;
    }
    return diags.Error(Rule::kPte15, Place::Node(draft->plan.name))
           << "a tensor's bytes don't fit 62 bits";
  }
  // The host's arena first, then that of state, then those of devices.
  draft->plan.arena_bytes = {0};
  uint64_t bound_bytes = 0;
  const auto place = [&](int8_t device) -> Status {
    TENON_ASSIGN(const uint64_t bound,
                 ArenaPlacer(draft, lifetimes, device, diags).Place());
    bound_bytes += bound;
    return {};
  };
  TENON_TRY(place(MemoryBlock::kHost));
  if (state_arena_bytes) {
    draft->plan.arena_bytes.push_back(static_cast<int64_t>(*state_arena_bytes));
    bound_bytes += *state_arena_bytes;
  }
  for (const int8_t device : devices) {
    if (device != MemoryBlock::kHost) TENON_TRY(place(device));
  }
  return bound_bytes;
}

}  // namespace tenon::executorch
