#include "memory/control_flow.h"

#include <algorithm>
#include <numeric>

namespace tenon {
namespace {

using Touches = std::span<const Touch>;

bool Contains(const StepRange& outer, const StepRange& inner) {
  return outer.first <= inner.first && inner.last <= outer.last;
}

}  // namespace

std::optional<ControlFlow> ControlFlow::Make(
    std::span<const LoopSteps> loops, std::span<const ChoiceSteps> choices) {
  ControlFlow flow;
  flow.regions_.push_back({Kind::kSequence, {0, UINT32_MAX}});
  for (const LoopSteps& loop : loops) {
    if (loop.steps.first > loop.steps.last) return std::nullopt;
    flow.regions_.push_back({Kind::kLoop, loop.steps, loop.is_left_at_end});
  }
  for (const ChoiceSteps& choice : choices) {
    if (choice.branches.empty()) continue;
    const StepRange all = {choice.branches.front().first,
                           choice.branches.back().last};
    flow.regions_.push_back({Kind::kChoice, all, false, choice.is_exhaustive});
    for (size_t i = 0; i < choice.branches.size(); ++i) {
      const StepRange& branch = choice.branches[i];
      if (branch.first > branch.last ||
          (i > 0 && branch.first <= choice.branches[i - 1].last)) {
        return std::nullopt;
      }
      flow.regions_.push_back({Kind::kSequence, branch});
    }
  }
  std::vector<uint32_t> order(flow.regions_.size());
  std::iota(order.begin(), order.end(), 0u);
  // Outer ones first; of equal ones the one that was added first, as a choice
  // is before its only branch.
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const StepRange &x = flow.regions_[a].steps, &y = flow.regions_[b].steps;
    return x.first != y.first ? x.first < y.first : x.last > y.last;
  });
  if (!flow.Nest(std::move(order))) return std::nullopt;
  return flow;
}

bool ControlFlow::Nest(std::vector<uint32_t> order) {
  std::vector<uint32_t> open;
  for (const uint32_t r : order) {
    const StepRange& steps = regions_[r].steps;
    while (!open.empty() && regions_[open.back()].steps.last < steps.first) {
      open.pop_back();
    }
    if (!open.empty()) {
      if (!Contains(regions_[open.back()].steps, steps)) return false;
      regions_[open.back()].children.push_back(r);
    }
    open.push_back(r);
  }
  return true;
}

// Backwards over the touches of one buffer.
class ControlFlow::Walk {
 public:
  explicit Walk(const ControlFlow& flow) : flow_(flow) {}

  // Whether the buffer is needed before the region, given whether it is behind.
  // With `marks`, the steps at which it is alive are added there, last first.
  bool Go(uint32_t region, Touches touches, bool is_live,
          std::vector<StepRange>* marks) const {
    const Region& r = flow_.regions_[region];
    if (touches.empty()) {
      if (is_live) Mark(r.steps, marks);
      return is_live;
    }
    switch (r.kind) {
      case Kind::kSequence:
        return Sequence(r, touches, is_live, marks);
      case Kind::kLoop:
        return Loop(r, touches, is_live, marks);
      case Kind::kChoice:
        return Choice(r, touches, is_live, marks);
    }
    return is_live;
  }

  // Of the outermost loop around a step, or the step itself.
  uint32_t FirstTurnOf(uint32_t step) const {
    for (uint32_t region = 0;;) {
      const Region& r = flow_.regions_[region];
      if (r.kind == Kind::kLoop) return r.steps.first;
      const std::optional<uint32_t> child = ChildAt(r, step);
      if (!child) return step;
      region = *child;
    }
  }

 private:
  static void Mark(StepRange steps, std::vector<StepRange>* marks) {
    if (marks == nullptr) return;
    if (!marks->empty() && uint64_t{steps.last} + 1 >= marks->back().first) {
      marks->back().first = std::min(marks->back().first, steps.first);
    } else {
      marks->push_back(steps);
    }
  }

  std::optional<uint32_t> ChildAt(const Region& r, uint32_t step) const {
    const auto next =
        std::upper_bound(r.children.begin(), r.children.end(), step,
                         [&](uint32_t s, uint32_t c) {
                           return s < flow_.regions_[c].steps.first;
                         });
    if (next == r.children.begin()) return std::nullopt;
    const uint32_t child = *(next - 1);
    if (flow_.regions_[child].steps.last < step) return std::nullopt;
    return child;
  }

  static Touches Within(Touches touches, const StepRange& steps) {
    const auto begin = std::lower_bound(
        touches.begin(), touches.end(), steps.first,
        [](const Touch& t, uint32_t step) { return t.step < step; });
    const auto end = std::upper_bound(
        begin, touches.end(), steps.last,
        [](uint32_t step, const Touch& t) { return step < t.step; });
    return {begin, end};
  }

  bool Sequence(const Region& r, Touches touches, bool is_live,
                std::vector<StepRange>* marks) const {
    // The part of the region that is still to be looked at ends before this.
    uint64_t end = uint64_t{r.steps.last} + 1;
    const auto go_to = [&](const StepRange& steps) {
      if (is_live && uint64_t{steps.last} + 1 < end) {
        Mark({steps.last + 1, static_cast<uint32_t>(end - 1)}, marks);
      }
      end = steps.first;
    };
    while (!touches.empty()) {
      const Touch& touch = touches.back();
      if (const auto child = ChildAt(r, touch.step)) {
        const StepRange& steps = flow_.regions_[*child].steps;
        const Touches inner = Within(touches, steps);
        go_to(steps);
        is_live = Go(*child, inner, is_live, marks);
        touches = touches.first(touches.size() - inner.size());
        continue;
      }
      go_to({touch.step, touch.step});
      if (touch.kind != TouchKind::kForget) {
        Mark({touch.step, touch.step}, marks);
      }
      is_live = touch.kind == TouchKind::kRead;
      touches = touches.first(touches.size() - 1);
    }
    if (is_live && end > r.steps.first) {
      Mark({r.steps.first, static_cast<uint32_t>(end - 1)}, marks);
    }
    return is_live;
  }

  bool Loop(const Region& r, Touches touches, bool is_live,
            std::vector<StepRange>* marks) const {
    if (is_live && !r.is_left_at_end) {
      Mark(r.steps, marks);
      return true;
    }
    // What a turn needs, the turn before has to keep.
    const bool is_carried = Sequence(r, touches, is_live, nullptr);
    return Sequence(r, touches, is_live || is_carried, marks);
  }

  bool Choice(const Region& r, Touches touches, bool is_live,
              std::vector<StepRange>* marks) const {
    bool is_needed = is_live && !r.is_exhaustive;
    for (size_t i = r.children.size(); i-- > 0;) {
      const uint32_t child = r.children[i];
      is_needed |= Go(child, Within(touches, flow_.regions_[child].steps),
                      is_live, marks);
    }
    return is_needed;
  }

  const ControlFlow& flow_;
};

bool ControlFlow::SetLifetime(std::span<const Touch> touches,
                              Lifetime* lifetime) const {
  const auto first =
      std::find_if(touches.begin(), touches.end(),
                   [](const Touch& t) { return t.kind != TouchKind::kForget; });
  if (first == touches.end()) return false;
  const Walk walk(*this);
  std::vector<StepRange> marks;
  walk.Go(0, touches, false, &marks);
  // What is needed before it begins isn't there yet.
  const uint32_t begin = walk.FirstTurnOf(first->step);
  while (marks.back().last < begin) marks.pop_back();
  marks.back().first = std::max(marks.back().first, begin);
  lifetime->first = marks.back().first;
  lifetime->last = marks.front().last;
  lifetime->gaps.clear();
  for (size_t i = marks.size(); i-- > 1;) {
    lifetime->gaps.push_back({marks[i].last + 1, marks[i - 1].first - 1});
  }
  return true;
}

}  // namespace tenon
