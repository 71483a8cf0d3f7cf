#include "memory/plan_search.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tenon {
namespace {

// splitmix64: the same numbers everywhere.
class Draw {
 public:
  // Below `count`, which is at least 1.
  uint64_t Below(uint64_t count) {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % count;
  }

 private:
  uint64_t state_ = 1;
};

class Search {
 public:
  Search(const MemoryProblem& problem, const Conflicts& conflicts,
         uint64_t bound_bytes, FirstFit* fit)
      : problem_(problem),
        conflicts_(conflicts),
        bound_(bound_bytes),
        fit_(*fit),
        high_at_(problem.slots.size(), kNone),
        is_waiting_(problem.slots.size()) {
    for (uint32_t s = 0; s < problem_.slots.size(); ++s) NoteEnd(s);
    best_size_ = size_ = HighestEnd();
  }

  uint64_t Run(uint64_t max_looks) {
    while (best_size_ > bound_ && fit_.num_looks() < max_looks) {
      Move();
      if (size_ < best_size_) {
        best_size_ = size_;
        since_best_.clear();
      }
    }
    // Back to the best.
    for (size_t i = since_best_.size(); i-- > 0;) {
      fit_.set_offset(since_best_[i].first, since_best_[i].second);
    }
    return best_size_;
  }

 private:
  static constexpr uint32_t kNone = ~0u;

  // --- what lies above the bound ---

  void NoteEnd(uint32_t s) {
    const bool is_high = fit_.end(s) > bound_ && !fit_.is_fixed(s);
    if (is_high == (high_at_[s] != kNone)) return;
    if (is_high) {
      high_at_[s] = static_cast<uint32_t>(high_.size());
      high_.push_back(s);
      return;
    }
    high_[high_at_[s]] = high_.back();
    high_at_[high_.back()] = high_at_[s];
    high_.pop_back();
    high_at_[s] = kNone;
  }

  uint64_t HighestEnd() {
    uint64_t end = bound_;
    fit_.AddLooks(high_.size() / 4);
    for (const uint32_t s : high_) end = std::max(end, fit_.end(s));
    return end;
  }

  // --- one change ---

  void Move() {
    const uint32_t victim = high_[draw_.Below(high_.size())];
    const uint32_t blocker = BlockerOf(victim);
    const bool is_earlier = blocker == kNone || draw_.Below(4) != 0;
    const uint32_t moved = is_earlier ? victim : blocker;
    const int64_t old_key = fit_.key(moved);
    // Without a blocker there may be room below nevertheless.
    const int64_t new_key = blocker == kNone ? old_key
                            : is_earlier     ? fit_.key(blocker) - 1
                                             : fit_.key(victim) + 1;
    // One in sixteen changes may cost up to a thirty-second of the bound.
    uint64_t limit = size_;
    if (draw_.Below(16) == 0) {
      limit = std::min(kMaxMemoryBytes, limit + draw_.Below(bound_ / 128 + 1));
    }
    undo_.clear();
    SetKey(moved, new_key);
    if (Settle(limit)) {
      NoteSize();
      since_best_.insert(since_best_.end(), undo_.begin(), undo_.end());
      return;
    }
    fit_.set_key(moved, old_key);
    for (size_t i = undo_.size(); i-- > 0;) {
      fit_.set_offset(undo_[i].first, undo_[i].second);
      NoteEnd(undo_[i].first);
    }
  }

  void NoteSize() {
    bool was_highest = false;
    uint64_t end = 0;
    for (const auto& [s, old] : undo_) {
      was_highest |= old + problem_.slots[s].size_bytes == size_;
      end = std::max(end, fit_.end(s));
    }
    size_ = was_highest ? HighestEnd() : std::max(size_, end);
  }

  // One that lies below and was placed before.
  uint32_t BlockerOf(uint32_t victim) {
    uint32_t chosen = kNone;
    uint64_t count = 0;
    // Also when nothing comes of it, a move is work.
    fit_.AddLooks(1 + conflicts_.of(victim).size() / 2);
    for (const uint32_t other : conflicts_.of(victim)) {
      if (fit_.is_fixed(other) || !fit_.ComesBefore(other, victim) ||
          fit_.offset(other) > fit_.offset(victim)) {
        continue;
      }
      if (draw_.Below(++count) == 0) chosen = other;
    }
    return chosen;
  }

  void SetKey(uint32_t moved, int64_t key) {
    const int64_t old_key = fit_.key(moved);
    Wait(moved);
    for (const uint32_t other : conflicts_.of(moved)) {
      const bool was_before = fit_.ComesBefore(moved, other);
      fit_.set_key(moved, key);
      const bool is_before = fit_.ComesBefore(moved, other);
      fit_.set_key(moved, old_key);
      if (was_before != is_before) Wait(other);
    }
    fit_.set_key(moved, key);
    // Keys have changed since they began to wait.
    std::make_heap(waiting_.begin(), waiting_.end(), IsLater{fit_});
  }

  // --- placing again what a change moves ---

  struct IsLater {
    const FirstFit& fit;
    bool operator()(uint32_t a, uint32_t b) const {
      return fit.ComesBefore(b, a);
    }
  };

  void Wait(uint32_t s) {
    if (is_waiting_[s] || fit_.is_fixed(s)) return;
    is_waiting_[s] = true;
    waiting_.push_back(s);
  }

  // In order, so that each is placed once.
  bool Settle(uint64_t limit) {
    bool fits = true;
    while (!waiting_.empty()) {
      std::pop_heap(waiting_.begin(), waiting_.end(), IsLater{fit_});
      const uint32_t s = waiting_.back();
      waiting_.pop_back();
      is_waiting_[s] = false;
      if (fits) fits = PlaceAgain(s, limit);
    }
    return fits;
  }

  bool PlaceAgain(uint32_t s, uint64_t limit) {
    const uint64_t old = fit_.offset(s);
    const uint64_t at = fit_.LowestOffset(s);
    if (at + problem_.slots[s].size_bytes > limit) return false;
    if (at == old) return true;
    undo_.push_back({s, old});
    fit_.set_offset(s, at);
    NoteEnd(s);
    for (const uint32_t other : conflicts_.of(s)) {
      if (!fit_.ComesBefore(s, other) || is_waiting_[other]) continue;
      Wait(other);
      std::push_heap(waiting_.begin(), waiting_.end(), IsLater{fit_});
    }
    return true;
  }

  const MemoryProblem& problem_;
  const Conflicts& conflicts_;
  const uint64_t bound_;
  FirstFit& fit_;
  Draw draw_;
  uint64_t size_ = 0;
  uint64_t best_size_ = 0;
  std::vector<uint32_t> high_;     // slots that end above the bound
  std::vector<uint32_t> high_at_;  // by slot: where in high_
  std::vector<uint32_t> waiting_;  // to be placed again; a heap
  std::vector<bool> is_waiting_;   // by slot
  // Slots and their old offsets, of one move and of those since the best plan:
  // copying the whole plan at each small progress would cost more than it.
  std::vector<std::pair<uint32_t, uint64_t>> undo_, since_best_;
};

}  // namespace

uint64_t SearchPlan(const MemoryProblem& problem, const Conflicts& conflicts,
                    uint64_t bound_bytes, uint64_t max_looks, FirstFit* fit) {
  return Search(problem, conflicts, bound_bytes, fit).Run(max_looks);
}

}  // namespace tenon
