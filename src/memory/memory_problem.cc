#include "memory/memory_problem.h"

#include <algorithm>
#include <bit>
#include <string>

namespace tenon {
namespace {

class ProblemBuilder {
 public:
  ProblemBuilder(std::span<const Lifetime> lifetimes, Diagnostics& diags)
      : lifetimes_(lifetimes), diags_(diags) {}

  Expected<MemoryProblem> Build() {
    if (lifetimes_.size() > UINT32_MAX / 4) {
      return diags_.Error(Rule::kUnsupported)
             << "a memory plan of " << lifetimes_.size() << " buffers";
    }
    out_.slots.reserve(lifetimes_.size());
    out_.ranges.reserve(lifetimes_.size());
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      TENON_TRY(Check(i));
      if (lifetimes_[i].size_bytes > 0) Add(i);
    }
    if (out_.ranges.size() > UINT32_MAX / 4) {
      return diags_.Error(Rule::kUnsupported)
             << "a memory plan of buffers with " << out_.ranges.size()
             << " times of use";
    }
    CompressTime();
    SortRanges();
    NumberByBegin();
    return std::move(out_);
  }

 private:
  DiagnosticBuilder Error(size_t i) {
    return diags_.Error(Rule::kUnsupported,
                        Place::Node("buffer " + std::to_string(i)));
  }

  Status Check(size_t i) {
    const Lifetime& life = lifetimes_[i];
    if (life.first > life.last) {
      return Error(i) << "a lifetime from step " << life.first << " to step "
                      << life.last;
    }
    if (!std::has_single_bit(life.alignment)) {
      return Error(i) << "an alignment of " << life.alignment
                      << ", which is no power of two";
    }
    if (life.size_bytes > kMaxMemoryBytes || life.alignment > kMaxMemoryBytes ||
        AlignUp(life.size_bytes, life.alignment) > kMaxMemoryBytes) {
      return Error(i) << life.size_bytes << " bytes, aligned to "
                      << life.alignment << ", are more than 2^63 - 1";
    }
    if (life.fixed_offset && *life.fixed_offset % life.alignment != 0) {
      return Error(i) << "fixed at offset " << *life.fixed_offset
                      << ", which isn't aligned to " << life.alignment;
    }
    uint64_t free_from = uint64_t{life.first} + 1;
    for (const StepRange& gap : life.gaps) {
      if (gap.first < free_from || gap.last < gap.first ||
          gap.last >= life.last) {
        return Error(i) << "a gap from step " << gap.first << " to step "
                        << gap.last << " out of order";
      }
      free_from = uint64_t{gap.last} + 1;
    }
    return {};
  }

  void Add(size_t i) {
    const Lifetime& life = lifetimes_[i];
    const auto slot = static_cast<uint32_t>(out_.slots.size());
    out_.slots.push_back({AlignUp(life.size_bytes, life.alignment),
                          life.alignment, 0, 0, static_cast<uint32_t>(i)});
    if (life.fixed_offset) {
      out_.fixed_slots.push_back(slot);
      out_.fixed_offsets.push_back(*life.fixed_offset);
    }
    out_.has_gaps = out_.has_gaps || !life.gaps.empty();
    uint64_t begin = life.first;
    for (const StepRange& gap : life.gaps) {
      AddRange(slot, begin, gap.first);
      begin = uint64_t{gap.last} + 1;
    }
    AddRange(slot, begin, uint64_t{life.last} + 1);
  }

  void AddRange(uint32_t slot, uint64_t begin, uint64_t end) {
    if (begin == end) return;  // between two gaps that touch
    out_.ranges.push_back({slot, 0, 0});
    steps_.push_back({begin, end});
  }

  // Steps at which nothing begins or ends make no difference. Where few are
  // left out, that isn't worth sorting them.
  void CompressTime() {
    uint64_t max_end = 0;
    for (const auto& [begin, end] : steps_) max_end = std::max(max_end, end);
    std::vector<uint64_t> times;
    const bool is_dense = max_end <= 4 * steps_.size() + 1024;
    if (!is_dense) {
      for (const auto& [begin, end] : steps_) {
        times.push_back(begin);
        times.push_back(end);
      }
      std::sort(times.begin(), times.end());
      times.erase(std::unique(times.begin(), times.end()), times.end());
    }
    const auto time_of = [&](uint64_t step) {
      if (is_dense) return static_cast<uint32_t>(step);
      return static_cast<uint32_t>(
          std::lower_bound(times.begin(), times.end(), step) - times.begin());
    };
    out_.num_times = is_dense ? static_cast<uint32_t>(max_end) + 1
                              : static_cast<uint32_t>(times.size());
    for (size_t r = 0; r < steps_.size(); ++r) {
      LiveRange& range = out_.ranges[r];
      range.begin = time_of(steps_[r].first);
      range.end = time_of(steps_[r].second);
      // Ranges of a slot follow each other.
      MemorySlot& slot = out_.slots[range.slot];
      if (slot.end == 0) slot.begin = range.begin;
      slot.end = range.end;
    }
  }

  // Calls place(i, rank) for a stable order by key(i) < num_times.
  template <typename Key, typename PlaceAt>
  void CountingSort(size_t count, Key&& key, PlaceAt&& place) {
    std::vector<uint32_t> next(size_t{out_.num_times} + 1);
    for (size_t i = 0; i < count; ++i) ++next[key(i) + 1];
    for (size_t t = 1; t < next.size(); ++t) next[t] += next[t - 1];
    for (size_t i = 0; i < count; ++i) place(i, next[key(i)]++);
  }

  void SortRanges() {
    const size_t count = out_.ranges.size();
    std::vector<LiveRange> sorted(count);
    CountingSort(
        count, [&](size_t i) { return out_.ranges[i].begin; },
        [&](size_t i, uint32_t rank) { sorted[rank] = out_.ranges[i]; });
    out_.ranges = std::move(sorted);
    out_.ranges_by_end.resize(count);
    CountingSort(
        count, [&](size_t i) { return out_.ranges[i].end; },
        [&](size_t i, uint32_t rank) {
          out_.ranges_by_end[rank] = static_cast<uint32_t>(i);
        });
  }

  // What is alive together lies together, too: with a million buffers, waiting
  // for memory is most of the work.
  void NumberByBegin() {
    constexpr uint32_t kNone = ~0u;
    std::vector<uint32_t> numbers(out_.slots.size(), kNone);
    std::vector<MemorySlot> slots;
    slots.reserve(out_.slots.size());
    for (LiveRange& range : out_.ranges) {
      uint32_t& number = numbers[range.slot];
      if (number == kNone) {
        number = static_cast<uint32_t>(slots.size());
        slots.push_back(out_.slots[range.slot]);
      }
      range.slot = number;
    }
    out_.slots = std::move(slots);
    for (uint32_t& slot : out_.fixed_slots) slot = numbers[slot];
  }

  const std::span<const Lifetime> lifetimes_;
  Diagnostics& diags_;
  MemoryProblem out_;
  std::vector<std::pair<uint64_t, uint64_t>> steps_;  // by range, half open
};

}  // namespace

Expected<MemoryProblem> MakeMemoryProblem(std::span<const Lifetime> lifetimes,
                                          Diagnostics& diags) {
  return ProblemBuilder(lifetimes, diags).Build();
}

}  // namespace tenon
