// Places buffers one after the other, each at the lowest offset where nothing
// lies that is placed already and alive at the same time.
//
// The order is given by keys, small ones first; it matters only between buffers
// that meet. So a change of one key changes the plan only around that buffer,
// and only that part has to be placed again (plan_search.h).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "memory/conflicts.h"
#include "memory/memory_problem.h"

namespace tenon {

class FirstFit {
 public:
  // Both outlive it.
  FirstFit(const MemoryProblem& problem, const Conflicts& conflicts);

  // Slots without a fixed place, in the order in which they are to be placed.
  void SetOrder(const std::vector<uint32_t>& order);
  // Where all lie already; low ones count as placed before high ones.
  void StartFrom(const std::vector<uint64_t>& offsets);
  // False, and offsets are of no use, when an end would exceed `limit_bytes`.
  bool PlaceAll(uint64_t limit_bytes);
  // Where the slot comes to lie, given where those before it do.
  uint64_t LowestOffset(uint32_t slot);

  bool ComesBefore(uint32_t a, uint32_t b) const {
    return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b;
  }
  bool is_fixed(uint32_t slot) const { return keys_[slot] == kFixedKey; }
  int64_t key(uint32_t slot) const { return keys_[slot]; }
  void set_key(uint32_t slot, int64_t key) { keys_[slot] = key; }
  uint64_t offset(uint32_t slot) const { return offsets_[slot]; }
  void set_offset(uint32_t slot, uint64_t at) { offsets_[slot] = at; }
  uint64_t end(uint32_t slot) const {
    return offsets_[slot] + problem_.slots[slot].size_bytes;
  }
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  // Of placed buffers, so far.
  uint64_t num_looks() const { return num_looks_; }
  void AddLooks(uint64_t count) { num_looks_ += count; }

  // The largest end.
  uint64_t SizeBytes() const;

 private:
  // Before all that can be moved.
  static constexpr int64_t kFixedKey = INT64_MIN;
  // Between two that follow each other, so that others can come between.
  static constexpr int64_t kKeyDistance = int64_t{1} << 24;

  const MemoryProblem& problem_;
  const Conflicts& conflicts_;
  std::vector<uint32_t> order_;
  std::vector<int64_t> keys_;                         // by slot
  std::vector<uint64_t> offsets_;                     // by slot
  std::vector<std::pair<uint64_t, uint64_t>> taken_;  // begin and end
  uint64_t num_looks_ = 0;
};

}  // namespace tenon
