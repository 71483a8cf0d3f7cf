// Lifetimes where steps don't simply run one after the other.
//
// Steps are numbered as they stand. A loop runs some of them again, of the
// branches of a choice only one runs:
//
//   0  x, p = ...      A buffer is needed from where it is written to where it
//   1    y = f(x)      is read last, on whatever way leads there:
//   2    s += y          x  0 to 2: steps 1 and 2 are a loop, and read it again
//   3    q = g(s)        y  1 and 2: each turn writes it anew
//   4    r = h(q)        p  0 to 5 without 3 and 4, which run, or 5 does:
//   5    r = h(p)           they never come to where p is read
//   6  ... = r           r  4 to 6
//
// So what one branch writes can have the memory of what another does. The
// planner knows a lifetime that isn't one piece as one with gaps.
//
// Lifetimes are computed per buffer by going backwards over what touches it,
// and over the regions that hold such a place; all others are passed at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/lifetime.h"

namespace tenon {

struct LoopSteps {
  StepRange steps;
  // It is left behind its last step only. Otherwise anywhere: then whatever is
  // touched in it and needed behind it lives for the whole loop.
  bool is_left_at_end = false;
};

struct ChoiceSteps {
  // Ascending, apart from each other. Steps between them belong to none, and
  // may touch nothing.
  std::vector<StepRange> branches;
  // One of them always runs; otherwise perhaps none.
  bool is_exhaustive = true;
};

enum class TouchKind : uint8_t {
  kRead,    // or written in part: what was there before is needed
  kWrite,   // as a whole: what was there before isn't
  kForget,  // what was there isn't needed any more; the memory isn't touched
};

struct Touch {
  uint32_t step = 0;
  TouchKind kind = TouchKind::kRead;
};

class ControlFlow {
 public:
  // Nothing when two regions overlap and neither lies in the other, or a range
  // is the wrong way round.
  static std::optional<ControlFlow> Make(std::span<const LoopSteps> loops,
                                         std::span<const ChoiceSteps> choices);

  // Sets `first`, `last` and `gaps`. `touches` are in the order of their steps,
  // and of one step in the order in which they happen: reads before writes.
  // A buffer that is read before anything wrote it begins with its first touch,
  // or with the outermost loop around it; that it holds something from the
  // start on, the caller says by a write at step 0, and that it is needed at
  // the end, by a read there. Without a touch of the memory, false, and nothing
  // is set.
  bool SetLifetime(std::span<const Touch> touches, Lifetime* lifetime) const;

 private:
  enum class Kind : uint8_t { kSequence, kLoop, kChoice };
  struct Region {
    Kind kind = Kind::kSequence;
    StepRange steps;
    bool is_left_at_end = false;
    bool is_exhaustive = true;
    std::vector<uint32_t> children;  // ascending
  };
  class Walk;

  bool Nest(std::vector<uint32_t> order);

  std::vector<Region> regions_;  // the first is all there is
};

}  // namespace tenon
