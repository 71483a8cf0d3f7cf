#include "executorch/plan_memory.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

namespace tenon::executorch {
namespace {

constexpr uint64_t kAlignment = 16;
constexpr uint32_t kArena = 1;
constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

class LifetimeFinder {
 public:
  explicit LifetimeFinder(const PlanDraft& draft) : draft_(draft) {
    lifetimes_.resize(draft.blocks.size());
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      lifetimes_[i].size_bytes = draft.blocks[i].size_bytes;
      lifetimes_[i].first = kNever;
    }
  }

  std::vector<BlockLifetime> Find() {
    const auto& instructions = draft_.plan.chains[0].instructions;
    const uint32_t end = draft_.next_instruction();
    for (const int32_t v : draft_.plan.inputs) Touch(v, 0);
    for (uint32_t i = 0; i < end; ++i) {
      std::visit([&](const auto& action) { TouchAll(action, i); },
                 instructions[i].action);
    }
    for (const int32_t v : draft_.plan.outputs) Touch(v, end);
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      BlockLifetime& life = lifetimes_[i];
      if (draft_.blocks[i].is_state) life = {life.size_bytes, 0, end};
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
    BlockLifetime& life = lifetimes_[block];
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
      BlockLifetime& life = lifetimes_[i];
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
  std::vector<BlockLifetime> lifetimes_;
};

}  // namespace

std::vector<BlockLifetime> FindLifetimes(const PlanDraft& draft) {
  return LifetimeFinder(draft).Find();
}

// Largest first, each at the lowest offset where nothing that lives at the same
// time lies.
BlockLayout LayOutBlocks(const std::vector<BlockLifetime>& lifetimes) {
  BlockLayout layout;
  layout.offsets.resize(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lifetimes[a].size_bytes > lifetimes[b].size_bytes;
  });
  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    const BlockLifetime& life = lifetimes[i];
    if (life.size_bytes == 0) continue;
    uint64_t offset = 0;
    for (const size_t k : placed) {
      const BlockLifetime& other = lifetimes[k];
      if (other.last < life.first || life.last < other.first) continue;
      const uint64_t begin = layout.offsets[k];
      if (offset + life.size_bytes <= begin) break;
      offset = std::max(offset, AlignUp(begin + other.size_bytes, kAlignment));
    }
    layout.offsets[i] = offset;
    layout.size_bytes = std::max(layout.size_bytes, offset + life.size_bytes);
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](uint64_t o, size_t k) { return o < layout.offsets[k]; });
    placed.insert(at, i);
  }
  return layout;
}

Status PlaceBlocks(PlanDraft* draft, Diagnostics& diags) {
  std::vector<BlockLifetime> lifetimes = FindLifetimes(*draft);
  uint64_t total = 0;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (draft->blocks[i].is_foreign) lifetimes[i].size_bytes = 0;
    total += lifetimes[i].size_bytes + kAlignment;
    if (lifetimes[i].size_bytes > uint64_t{1} << 62 || total > uint64_t{1}
                                                                   << 62) {
      return diags.Error(Rule::kPte15, Place::Node(draft->plan.name))
             << "the tensors' bytes don't fit 63 bits";
    }
  }
  const BlockLayout layout = LayOutBlocks(lifetimes);
  for (size_t v = 0; v < draft->plan.values.size(); ++v) {
    const uint32_t block = draft->block_of[v];
    auto* tensor = std::get_if<PteTensor>(&draft->plan.values[v].content);
    if (tensor == nullptr || block == PlanDraft::kNoBlock) continue;
    if (draft->blocks[block].is_foreign) continue;
    tensor->allocation = PteAllocation{kArena, layout.offsets[block]};
  }
  draft->plan.arena_bytes = {
      0, static_cast<int64_t>(AlignUp(layout.size_bytes, kAlignment))};
  return {};
}

}  // namespace tenon::executorch
