// When buffers are needed where steps run again, or not at all. Besides single
// cases: random programs, against liveness computed step by step over the
// graph of what may follow what.
#include "memory/control_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

namespace tenon {
namespace {

constexpr auto kRead = TouchKind::kRead;
constexpr auto kWrite = TouchKind::kWrite;
constexpr auto kForget = TouchKind::kForget;

// "0-2 5", the steps at which a buffer is alive.
std::string Alive(const std::vector<LoopSteps>& loops,
                  const std::vector<ChoiceSteps>& choices,
                  const std::vector<Touch>& touches) {
  const auto flow = ControlFlow::Make(loops, choices);
  if (!flow) return "bad regions";
  Lifetime life;
  if (!flow->SetLifetime(touches, &life)) return "";
  std::string text;
  uint32_t first = life.first;
  const auto add = [&](uint32_t last) {
    if (!text.empty()) text += ' ';
    text += std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  };
  for (const StepRange& gap : life.gaps) {
    add(gap.first - 1);
    first = gap.last + 1;
  }
  add(life.last);
  return text;
}

TEST(ControlFlow, StraightLine) {
  EXPECT_EQ(Alive({}, {}, {{2, kWrite}, {4, kRead}, {7, kRead}}), "2-7");
  EXPECT_EQ(Alive({}, {}, {{3, kWrite}}), "3");
  EXPECT_EQ(Alive({}, {}, {}), "");
  EXPECT_EQ(Alive({}, {}, {{3, kForget}}), "");
}

TEST(ControlFlow, ANewValueNeedsNothingOfTheOld) {
  EXPECT_EQ(Alive({}, {}, {{0, kWrite}, {2, kRead}, {6, kWrite}, {8, kRead}}),
            "0-2 6-8");
  EXPECT_EQ(Alive({}, {}, {{0, kWrite}, {2, kRead}, {2, kWrite}, {8, kRead}}),
            "0-8");
}

TEST(ControlFlow, WhatIsReadFirstBeginsThere) {
  EXPECT_EQ(Alive({}, {}, {{5, kRead}, {7, kRead}}), "5-7");
  EXPECT_EQ(Alive({{{3, 9}}}, {}, {{5, kRead}, {12, kRead}}), "3-12");
}

TEST(ControlFlow, TheNextTurnReadsAgain) {
  EXPECT_EQ(Alive({{{3, 9}}}, {}, {{1, kWrite}, {5, kRead}}), "1-9");
}

TEST(ControlFlow, EachTurnWritesAnew) {
  EXPECT_EQ(Alive({{{3, 9}}}, {}, {{5, kWrite}, {7, kRead}}), "5-7");
}

TEST(ControlFlow, OneTurnReadsWhatTheLastWrote) {
  EXPECT_EQ(Alive({{{3, 9}}}, {}, {{5, kRead}, {7, kWrite}}), "3-5 7-9");
  EXPECT_EQ(Alive({{{3, 9}}}, {}, {{1, kWrite}, {5, kRead}, {7, kWrite}}),
            "1-5 7-9");
}

TEST(ControlFlow, WhatALoopLeavesBehind) {
  const std::vector<Touch> touches = {{5, kWrite}, {12, kRead}};
  EXPECT_EQ(Alive({{{3, 9}, true}}, {}, touches), "5-12");
  // Left in the middle, before step 5 of the second turn.
  EXPECT_EQ(Alive({{{3, 9}, false}}, {}, touches), "3-12");
}

TEST(ControlFlow, LoopsInLoops) {
  const std::vector<LoopSteps> loops = {{{4, 6}, true}, {{2, 8}, true}};
  EXPECT_EQ(Alive(loops, {}, {{1, kWrite}, {5, kRead}}), "1-8");
  EXPECT_EQ(Alive(loops, {}, {{3, kWrite}, {5, kRead}}), "3-6");
  EXPECT_EQ(Alive(loops, {}, {{5, kWrite}, {7, kRead}}), "5-7");
  EXPECT_EQ(Alive(loops, {}, {{5, kRead}}), "2-8");
}

TEST(ControlFlow, OneBranchDoesntNeedWhatTheOtherReads) {
  const std::vector<ChoiceSteps> choice = {{{{3, 5}, {6, 8}}}};
  EXPECT_EQ(Alive({}, choice, {{1, kWrite}, {4, kRead}}), "1-4");
  EXPECT_EQ(Alive({}, choice, {{1, kWrite}, {7, kRead}}), "1-2 6-7");
  EXPECT_EQ(Alive({}, choice, {{1, kWrite}, {4, kRead}, {7, kRead}}),
            "1-4 6-7");
  EXPECT_EQ(Alive({}, choice, {{1, kWrite}, {9, kRead}}), "1-9");
}

TEST(ControlFlow, BothBranchesWriteOneResult) {
  const std::vector<ChoiceSteps> choice = {{{{3, 5}, {6, 8}}}};
  EXPECT_EQ(Alive({}, choice, {{4, kWrite}, {8, kWrite}, {9, kRead}}),
            "4-5 8-9");
  // Another value takes its place in the second.
  EXPECT_EQ(Alive({}, choice, {{4, kWrite}, {8, kForget}, {9, kRead}}),
            "4-5 9");
}

TEST(ControlFlow, ABranchThatMayBeSkipped) {
  const std::vector<ChoiceSteps> choice = {{{{3, 5}}, false}};
  EXPECT_EQ(Alive({}, choice, {{1, kWrite}, {4, kWrite}, {9, kRead}}),
            "1-2 4-9");
  EXPECT_EQ(
      Alive({}, {{{{3, 5}}, true}}, {{1, kWrite}, {4, kWrite}, {9, kRead}}),
      "1 4-9");
}

TEST(ControlFlow, RefusesRegionsThatCross) {
  EXPECT_EQ(Alive({{{3, 9}}, {{5, 12}}}, {}, {}), "bad regions");
  EXPECT_EQ(Alive({{{9, 3}}}, {}, {}), "bad regions");
  EXPECT_EQ(Alive({}, {{{{3, 5}, {5, 8}}}}, {}), "bad regions");
  EXPECT_EQ(Alive({{{4, 7}}}, {{{{3, 5}, {6, 8}}}}, {}), "bad regions");
  EXPECT_EQ(Alive({}, {{{}}}, {{1, kWrite}}), "1");
}

TEST(ControlFlow, TheLastStepThereIs) {
  EXPECT_EQ(Alive({}, {}, {{0, kWrite}, {UINT32_MAX, kRead}}), "0-4294967295");
  EXPECT_EQ(Alive({}, {}, {{0, kRead}, {0, kWrite}}), "0");
}

// --- against the graph of steps --------------------------------------------

struct RandomProgram {
  std::vector<LoopSteps> loops;
  std::vector<ChoiceSteps> choices;
  std::vector<std::set<uint32_t>> next;  // by step; the end is the last one

  explicit RandomProgram(uint32_t seed) : random(seed) {
    next.resize(1);
    Sequence(0, 3);
  }

  uint32_t here() const { return static_cast<uint32_t>(next.size()) - 1; }
  void Step() {
    next[here()].insert(here() + 1);
    next.emplace_back();
  }
  void Sequence(int depth, uint32_t length) {
    for (uint32_t i = 0; i < length; ++i) {
      Step();
      if (depth == 3) continue;
      if (random() % 3 == 0) Loop(depth);
      if (random() % 3 == 0) Choice(depth);
    }
  }
  void Loop(int depth) {
    const uint32_t first = here();
    Sequence(depth + 1, 1 + random() % 3);
    const uint32_t last = here() - 1;
    next[last].insert(first);
    const bool is_left_at_end = random() % 2 == 0;
    if (!is_left_at_end) {
      for (uint32_t s = first; s <= last; ++s) next[s].insert(last + 1);
    }
    loops.push_back({{first, last}, is_left_at_end});
  }
  // A step of its own decides.
  void Choice(int depth) {
    const uint32_t before = here();
    Step();
    ChoiceSteps choice;
    choice.is_exhaustive = random() % 2 == 0;
    std::vector<uint32_t> lasts;
    next[before].clear();
    for (uint32_t i = 1 + random() % 3; i > 0; --i) {
      const uint32_t first = here();
      next[before].insert(first);
      Sequence(depth + 1, 1 + random() % 2);
      const uint32_t last = here() - 1;
      // Behind the branch comes what is behind the choice. A loop at its end
      // leads there, too, so it gets a step of its own.
      Step();
      lasts.push_back(last + 1);
      choice.branches.push_back({first, last + 1});
    }
    for (const uint32_t last : lasts) {
      next[last].erase(last + 1);
      next[last].insert(here());
    }
    if (!choice.is_exhaustive) next[before].insert(here());
    choices.push_back(choice);
  }

  std::mt19937 random;
};

// Steps at which a buffer is alive, the slow way.
std::vector<bool> SlowAlive(const RandomProgram& program,
                            const std::vector<Touch>& touches) {
  const size_t count = program.next.size();
  std::vector<bool> reads(count), writes(count), is_live(count);
  for (const Touch& t : touches) {
    (t.kind == kRead ? reads : writes)[t.step] = true;
  }
  std::vector<bool> before(count), behind(count);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t s = count; s-- > 0;) {
      for (const uint32_t n : program.next[s]) {
        if (n < count && before[n]) behind[s] = true;
      }
      const bool b = reads[s] || (behind[s] && !writes[s]);
      changed |= b != before[s];
      before[s] = b;
    }
  }
  for (size_t s = 0; s < count; ++s) {
    is_live[s] = before[s] || reads[s] || writes[s];
  }
  return is_live;
}

TEST(ControlFlow, NeverMissesAStep) {
  size_t num_exact = 0, num_all = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    RandomProgram program(seed);
    const auto flow = ControlFlow::Make(program.loops, program.choices);
    ASSERT_TRUE(flow) << seed;
    const auto count = static_cast<uint32_t>(program.next.size());
    std::vector<Touch> touches = {{0, kWrite}};
    for (uint32_t s = 1; s < count; ++s) {
      if (program.random() % 6 == 0) {
        touches.push_back({s, program.random() % 2 == 0 ? kRead : kWrite});
      }
    }
    Lifetime life;
    ASSERT_TRUE(flow->SetLifetime(touches, &life));
    std::vector<bool> is_live(count);
    for (uint32_t s = life.first; s <= life.last; ++s) is_live[s] = true;
    for (const StepRange& gap : life.gaps) {
      for (uint32_t s = gap.first; s <= gap.last; ++s) is_live[s] = false;
    }
    const std::vector<bool> expected = SlowAlive(program, touches);
    for (uint32_t s = 0; s < count; ++s) {
      EXPECT_TRUE(is_live[s] || !expected[s])
          << "seed " << seed << " step " << s;
      num_exact += is_live[s] == expected[s];
      ++num_all;
    }
  }
  // Loops that are left anywhere are taken as a whole.
  EXPECT_GT(num_exact, num_all * 9 / 10);
}

}  // namespace
}  // namespace tenon
