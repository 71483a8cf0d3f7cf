#include "memory/peak_live.h"

#include <algorithm>

namespace tenon {

std::optional<uint64_t> PeakLive(const MemoryProblem& problem) {
  uint64_t live = 0, peak = 0;
  // Neither `live` nor a size exceeds 2^63 - 1, so their sum fits.
  const bool fits = ForEachEvent(
      problem,
      [&](const LiveRange& range) {
        live += problem.slots[range.slot].size_bytes;
        peak = std::max(peak, live);
        return live <= kMaxMemoryBytes;
      },
      [&](const LiveRange& range) {
        live -= problem.slots[range.slot].size_bytes;
        return true;
      });
  if (!fits) return std::nullopt;
  return peak;
}

}  // namespace tenon
