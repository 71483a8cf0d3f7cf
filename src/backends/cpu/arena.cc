#include "backends/cpu/arena.h"

#include <algorithm>
#include <numeric>

namespace tenon::cpu {
namespace {

constexpr size_t kAlignment = 64;

size_t Aligned(size_t size_bytes) {
  return (size_bytes + kAlignment - 1) & ~(kAlignment - 1);
}

bool Overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

ArenaLayout LayOutArena(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lifetimes[a].size_bytes > lifetimes[b].size_bytes;
  });
  ArenaLayout layout;
  layout.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> placed;  // sorted by offset
  for (const size_t i : order) {
    const size_t size = Aligned(lifetimes[i].size_bytes);
    if (size == 0) continue;
    size_t offset = 0;
    for (const size_t p : placed) {
      if (!Overlap(lifetimes[i], lifetimes[p])) continue;
      if (offset + size <= layout.offsets[p]) break;
      offset = std::max(offset,
                        layout.offsets[p] + Aligned(lifetimes[p].size_bytes));
    }
    layout.offsets[i] = offset;
    layout.size_bytes = std::max(layout.size_bytes, offset + size);
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](size_t o, size_t p) { return o < layout.offsets[p]; });
    placed.insert(at, i);
  }
  return layout;
}

}  // namespace tenon::cpu
