#include "memory/first_fit.h"

#include <algorithm>

namespace tenon {

FirstFit::FirstFit(const MemoryProblem& problem, const Conflicts& conflicts)
    : problem_(problem),
      conflicts_(conflicts),
      keys_(problem.slots.size()),
      offsets_(problem.slots.size()) {
  for (size_t i = 0; i < problem.fixed_slots.size(); ++i) {
    keys_[problem.fixed_slots[i]] = kFixedKey;
    offsets_[problem.fixed_slots[i]] = problem.fixed_offsets[i];
  }
}

void FirstFit::SetOrder(const std::vector<uint32_t>& order) {
  order_ = order;
  int64_t key = 0;
  for (const uint32_t s : order_) keys_[s] = key += kKeyDistance;
}

void FirstFit::StartFrom(const std::vector<uint64_t>& offsets) {
  // Offsets of those that meet differ, and fit: they end before 2^63.
  for (uint32_t s = 0; s < offsets.size(); ++s) {
    if (!is_fixed(s)) keys_[s] = static_cast<int64_t>(offsets[s]);
  }
  offsets_ = offsets;
}

uint64_t FirstFit::LowestOffset(uint32_t slot) {
  const std::span<const uint32_t> others = conflicts_.of(slot);
  taken_.clear();
  for (const uint32_t other : others) {
    if (!ComesBefore(other, slot)) continue;
    taken_.push_back({offsets_[other], end(other)});
  }
  num_looks_ += 1 + others.size() / 2 + 2 * taken_.size();
  std::sort(taken_.begin(), taken_.end());
  const auto [size, alignment] = std::pair(problem_.slots[slot].size_bytes,
                                           problem_.slots[slot].alignment);
  uint64_t at = 0;
  for (const auto& [taken_begin, taken_end] : taken_) {
    if (at + size <= taken_begin) break;
    if (taken_end > at) at = AlignUp(taken_end, alignment);
  }
  return at;
}

bool FirstFit::PlaceAll(uint64_t limit_bytes) {
  for (const uint32_t s : order_) {
    offsets_[s] = LowestOffset(s);
    if (end(s) > limit_bytes) return false;
  }
  return true;
}

uint64_t FirstFit::SizeBytes() const {
  uint64_t size = 0;
  for (uint32_t s = 0; s < offsets_.size(); ++s) size = std::max(size, end(s));
  return size;
}

}  // namespace tenon
