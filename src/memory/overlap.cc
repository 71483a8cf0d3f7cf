#include "memory/overlap.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "memory/memory_problem.h"

namespace tenon {
namespace {

struct Event {
  uint64_t time = 0;
  bool is_begin = false;  // ends first
  size_t buffer = 0;
  friend bool operator<(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.is_begin < b.is_begin;
  }
};

std::vector<Event> EventsOf(std::span<const Lifetime> lifetimes) {
  std::vector<Event> events;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& life = lifetimes[i];
    if (life.size_bytes == 0) continue;
    const auto add = [&](uint64_t begin, uint64_t end) {
      if (begin == end) return;  // between two gaps that touch
      events.push_back({begin, true, i});
      events.push_back({end, false, i});
    };
    uint64_t begin = life.first;
    for (const StepRange& gap : life.gaps) {
      add(begin, gap.first);
      begin = uint64_t{gap.last} + 1;
    }
    add(begin, uint64_t{life.last} + 1);
  }
  std::sort(events.begin(), events.end());
  return events;
}

}  // namespace

std::optional<std::pair<size_t, size_t>> FindOverlap(
    std::span<const Lifetime> lifetimes, std::span<const uint64_t> offsets) {
  const auto end_of = [&](size_t i) {
    return offsets[i] +
           AlignUp(lifetimes[i].size_bytes, lifetimes[i].alignment);
  };
  std::map<uint64_t, size_t> alive;  // buffers by offset, apart so far
  for (const Event& event : EventsOf(lifetimes)) {
    const size_t i = event.buffer;
    if (!event.is_begin) {
      alive.erase(offsets[i]);
      continue;
    }
    const auto next = alive.lower_bound(offsets[i]);
    if (next != alive.end() && next->first < end_of(i)) {
      return std::minmax(i, next->second);
    }
    if (next != alive.begin()) {
      const size_t below = std::prev(next)->second;
      if (end_of(below) > offsets[i]) return std::minmax(i, below);
    }
    alive.emplace_hint(next, offsets[i], i);
  }
  return std::nullopt;
}

}  // namespace tenon
