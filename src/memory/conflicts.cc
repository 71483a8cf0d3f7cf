#include "memory/conflicts.h"

#include <algorithm>

namespace tenon {
namespace {

// Calls visit(slot, other) for each pair that meets, as it does.
template <typename Visit>
void ForEachMeeting(const MemoryProblem& problem, Visit&& visit) {
  std::vector<uint32_t> alive, place(problem.slots.size());
  ForEachEvent(
      problem,
      [&](const LiveRange& range) {
        for (const uint32_t other : alive) visit(range.slot, other);
        place[range.slot] = static_cast<uint32_t>(alive.size());
        alive.push_back(range.slot);
        return true;
      },
      [&](const LiveRange& range) {
        const uint32_t at = place[range.slot];
        alive[at] = alive.back();
        place[alive[at]] = at;
        alive.pop_back();
        return true;
      });
}

}  // namespace

uint64_t CountConflicts(const MemoryProblem& problem, uint64_t limit) {
  uint64_t num_alive = 0, count = 0;
  ForEachEvent(
      problem,
      [&](const LiveRange&) {
        count += num_alive++;
        return count < limit;
      },
      [&](const LiveRange&) {
        --num_alive;
        return true;
      });
  return std::min(count, limit);
}

Conflicts::Conflicts(const MemoryProblem& problem) {
  const size_t num_slots = problem.slots.size();
  begins_.assign(num_slots + 1, 0);
  ForEachMeeting(problem, [&](uint32_t a, uint32_t b) {
    ++begins_[a + 1];
    ++begins_[b + 1];
  });
  for (size_t s = 0; s < num_slots; ++s) begins_[s + 1] += begins_[s];
  all_.resize(begins_[num_slots]);
  ends_.assign(begins_.begin(), begins_.end() - 1);
  ForEachMeeting(problem, [&](uint32_t a, uint32_t b) {
    all_[ends_[a]++] = b;
    all_[ends_[b]++] = a;
  });
  for (size_t s = 0; s < num_slots; ++s) {
    if (problem.has_gaps) {
      const auto begin = all_.begin() + begins_[s],
                 end = all_.begin() + ends_[s];
      std::sort(begin, end);
      ends_[s] = static_cast<uint32_t>(std::unique(begin, end) - all_.begin());
    }
    num_entries_ += ends_[s] - begins_[s];
  }
}

}  // namespace tenon
