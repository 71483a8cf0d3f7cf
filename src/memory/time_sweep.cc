#include "memory/time_sweep.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tenon {
namespace {

constexpr uint32_t kNone = ~0u;

class FreeLists {
 public:
  explicit FreeLists(uint64_t base) : end_(base) { heads_.fill(kNone); }

  // The stretch's id; sets where it begins. kNone when memory ends.
  uint32_t Allocate(uint64_t size, uint64_t alignment, uint64_t* offset) {
    const uint32_t found = Find(size, alignment);
    if (found != kNone) {
      Unlink(found);
      return Cut(found, size, alignment, offset);
    }
    return Append(size, alignment, offset);
  }

  void Free(uint32_t id) {
    const uint32_t next = blocks_[id].next;
    if (next != kNone && blocks_[next].is_free) {
      Unlink(next);
      Absorb(id, next);
    }
    const uint32_t prev = blocks_[id].prev;
    if (prev != kNone && blocks_[prev].is_free) {
      Unlink(prev);
      Absorb(prev, id);
      id = prev;
    }
    Link(id);
  }

  uint64_t end() const { return end_; }

 private:
  static constexpr uint32_t kParts = 16;
  static constexpr uint32_t kNumLists = 64 * kParts;
  static constexpr int kMaxLooks = 24;

  struct Block {
    uint64_t offset = 0, size = 0;
    uint32_t prev = kNone, next = kNone;            // by address
    uint32_t list_prev = kNone, list_next = kNone;  // while free
    bool is_free = false;
  };

  static uint32_t ListOf(uint64_t size) {
    const auto log = static_cast<uint32_t>(std::bit_width(size)) - 1;
    const uint64_t part = log >= 4 ? size >> (log - 4) : size << (4 - log);
    return log * kParts + static_cast<uint32_t>(part - kParts);
  }

  static bool Fits(const Block& b, uint64_t size, uint64_t alignment) {
    const uint64_t pad = AlignUp(b.offset, alignment) - b.offset;
    return pad <= b.size && b.size - pad >= size;
  }

  // The smallest that fits of those looked at, lists of small ones first.
  uint32_t Find(uint64_t size, uint64_t alignment) const {
    int looks = 0;
    for (uint32_t list = NextList(ListOf(size));
         list != kNone && looks < kMaxLooks; list = NextList(list + 1)) {
      uint32_t best = kNone;
      for (uint32_t b = heads_[list]; b != kNone && looks < kMaxLooks;
           b = blocks_[b].list_next, ++looks) {
        if (Fits(blocks_[b], size, alignment) &&
            (best == kNone || IsBetter(blocks_[b], blocks_[best]))) {
          best = b;
        }
      }
      if (best != kNone) return best;
    }
    return kNone;
  }

  static bool IsBetter(const Block& a, const Block& b) {
    return a.size != b.size ? a.size < b.size : a.offset < b.offset;
  }

  uint32_t NextList(uint32_t list) const {
    if (list >= kNumLists) return kNone;
    uint32_t word = list / 64;
    uint64_t bits = bits_[word] & (~uint64_t{0} << (list % 64));
    while (bits == 0) {
      if (++word == bits_.size()) return kNone;
      bits = bits_[word];
    }
    return word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
  }

  void Link(uint32_t id) {
    Block& b = blocks_[id];
    const uint32_t list = ListOf(b.size);
    b.is_free = true;
    b.list_prev = kNone;
    b.list_next = heads_[list];
    if (b.list_next != kNone) blocks_[b.list_next].list_prev = id;
    heads_[list] = id;
    bits_[list / 64] |= uint64_t{1} << (list % 64);
  }

  void Unlink(uint32_t id) {
    Block& b = blocks_[id];
    const uint32_t list = ListOf(b.size);
    b.is_free = false;
    if (b.list_next != kNone) blocks_[b.list_next].list_prev = b.list_prev;
    if (b.list_prev != kNone) {
      blocks_[b.list_prev].list_next = b.list_next;
    } else {
      heads_[list] = b.list_next;
      if (b.list_next == kNone)
        bits_[list / 64] &= ~(uint64_t{1} << (list % 64));
    }
  }

  uint32_t New(uint64_t offset, uint64_t size) {
    uint32_t id = static_cast<uint32_t>(blocks_.size());
    if (unused_.empty()) {
      blocks_.emplace_back();
    } else {
      id = unused_.back();
      unused_.pop_back();
    }
    blocks_[id] = Block{offset, size};
    return id;
  }

  void InsertBehind(uint32_t id, uint32_t fresh) {
    const uint32_t next = blocks_[id].next;
    blocks_[fresh].prev = id;
    blocks_[fresh].next = next;
    blocks_[id].next = fresh;
    if (next != kNone) blocks_[next].prev = fresh;
    if (last_ == id) last_ = fresh;
  }

  // `next`, which follows `id`, becomes part of it.
  void Absorb(uint32_t id, uint32_t next) {
    blocks_[id].size += blocks_[next].size;
    const uint32_t behind = blocks_[next].next;
    blocks_[id].next = behind;
    if (behind != kNone) blocks_[behind].prev = id;
    if (last_ == next) last_ = id;
    unused_.push_back(next);
  }

  // What is in front of and behind the new buffer stays free.
  uint32_t Cut(uint32_t id, uint64_t size, uint64_t alignment,
               uint64_t* offset) {
    *offset = AlignUp(blocks_[id].offset, alignment);
    const uint64_t pad = *offset - blocks_[id].offset;
    if (pad > 0) {
      const uint32_t rest = New(*offset, blocks_[id].size - pad);
      InsertBehind(id, rest);
      blocks_[id].size = pad;
      Link(id);
      id = rest;
    }
    if (blocks_[id].size > size) {
      const uint32_t rest = New(*offset + size, blocks_[id].size - size);
      InsertBehind(id, rest);
      blocks_[id].size = size;
      Link(rest);
    }
    return id;
  }

  // Takes what is free at the end, and as much more as it lacks.
  uint32_t Append(uint64_t size, uint64_t alignment, uint64_t* offset) {
    const bool is_last_free = last_ != kNone && blocks_[last_].is_free;
    const uint64_t begin = is_last_free ? blocks_[last_].offset : end_;
    *offset = AlignUp(begin, alignment);
    if (*offset + size > kMaxMemoryBytes) return kNone;
    uint32_t id = last_;
    if (is_last_free) {
      Unlink(id);
      blocks_[id].size = *offset + size - begin;
    } else {
      id = New(begin, *offset + size - begin);
      if (last_ == kNone) {
        last_ = id;
      } else {
        InsertBehind(last_, id);
      }
    }
    end_ = std::max(end_, *offset + size);
    return Cut(id, size, alignment, offset);
  }

  std::vector<Block> blocks_;
  std::vector<uint32_t> unused_;  // ids
  std::array<uint32_t, kNumLists> heads_;
  std::array<uint64_t, kNumLists / 64> bits_{};
  uint32_t last_ = kNone;
  uint64_t end_;
};

class Sweep {
 public:
  Sweep(const MemoryProblem& problem, SweepDirection direction)
      : problem_(problem), direction_(direction) {}

  SlotOffsets Run() {
    PlaceFixed();
    SortEvents();
    FreeLists memory(base_);
    std::vector<uint32_t> block_of(problem_.slots.size(), kNone);
    size_t next_end = 0;
    for (const uint32_t s : by_begin_) {
      for (; next_end < num_ended_[Begin(s)]; ++next_end) {
        memory.Free(block_of[by_end_[next_end]]);
      }
      const MemorySlot& slot = problem_.slots[s];
      block_of[s] =
          memory.Allocate(slot.size_bytes, slot.alignment, &out_.offsets[s]);
      if (block_of[s] == kNone) return {};
    }
    out_.size_bytes = by_begin_.empty() ? base_ : memory.end();
    return std::move(out_);
  }

 private:
  void PlaceFixed() {
    out_.offsets.assign(problem_.slots.size(), kNoOffset);
    for (size_t i = 0; i < problem_.fixed_slots.size(); ++i) {
      const uint32_t s = problem_.fixed_slots[i];
      out_.offsets[s] = problem_.fixed_offsets[i];
      base_ = std::max(base_, out_.offsets[s] + problem_.slots[s].size_bytes);
    }
  }

  uint32_t Begin(uint32_t s) const {
    const MemorySlot& slot = problem_.slots[s];
    return direction_ == SweepDirection::kForwards
               ? slot.begin
               : problem_.num_times - slot.end;
  }
  uint32_t End(uint32_t s) const {
    const MemorySlot& slot = problem_.slots[s];
    return direction_ == SweepDirection::kForwards
               ? slot.end
               : problem_.num_times - slot.begin;
  }

  // By the time at which they begin or end; where several begin, the largest
  // is first.
  void SortEvents() {
    std::vector<uint32_t> begins(size_t{problem_.num_times} + 2);
    std::vector<uint32_t> ends(begins.size());
    size_t count = 0;
    for (uint32_t s = 0; s < problem_.slots.size(); ++s) {
      if (out_.offsets[s] != kNoOffset) continue;
      ++begins[Begin(s) + 1];
      ++ends[End(s) + 1];
      ++count;
    }
    for (size_t t = 1; t < begins.size(); ++t) {
      begins[t] += begins[t - 1];
      ends[t] += ends[t - 1];
    }
    by_begin_.resize(count);
    by_end_.resize(count);
    for (uint32_t s = 0; s < problem_.slots.size(); ++s) {
      if (out_.offsets[s] != kNoOffset) continue;
      by_begin_[begins[Begin(s)]++] = s;
      by_end_[ends[End(s)]++] = s;
    }
    num_ended_ = std::move(ends);
    for (auto from = by_begin_.begin(); from != by_begin_.end();) {
      const auto to = std::find_if(from, by_begin_.end(), [&](uint32_t s) {
        return Begin(s) != Begin(*from);
      });
      std::stable_sort(from, to, [&](uint32_t a, uint32_t b) {
        return problem_.slots[a].size_bytes > problem_.slots[b].size_bytes;
      });
      from = to;
    }
  }

  const MemoryProblem& problem_;
  const SweepDirection direction_;
  SlotOffsets out_;
  uint64_t base_ = 0;
  std::vector<uint32_t> by_begin_, by_end_;
  std::vector<uint32_t> num_ended_;  // by time: up to it, of by_end_
};

}  // namespace

SlotOffsets SweepTime(const MemoryProblem& problem, SweepDirection direction) {
  return Sweep(problem, direction).Run();
}

}  // namespace tenon
