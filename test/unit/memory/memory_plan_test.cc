// Plans of random and of awkward lifetimes: nothing that is alive together
// overlaps, what was asked for holds, and plans are small.
#include "memory/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "memory/overlap.h"

namespace tenon {
namespace {

Expected<MemoryPlan> Plan(const std::vector<Lifetime>& lifetimes,
                          MemoryPlanOptions options = {}) {
  Diagnostics diags;
  auto plan = PlanMemory(lifetimes, options, diags);
  EXPECT_TRUE(plan) << diags.ToString();
  return plan;
}

std::string ErrorOf(const std::vector<Lifetime>& lifetimes) {
  Diagnostics diags;
  EXPECT_FALSE(PlanMemory(lifetimes, {}, diags));
  return diags.FirstError();
}

bool IsAliveAt(const Lifetime& life, uint64_t step) {
  if (step < life.first || step > life.last) return false;
  return std::none_of(life.gaps.begin(), life.gaps.end(),
                      [&](const StepRange& gap) {
                        return gap.first <= step && step <= gap.last;
                      });
}

uint64_t SlotBytes(const Lifetime& life) {
  return (life.size_bytes + life.alignment - 1) / life.alignment *
         life.alignment;
}

// All that PlanMemory promises, checked pair by pair and step by step. Steps
// are below 1,000.
void Check(const std::vector<Lifetime>& lifetimes, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  uint64_t end = 0, fixed_end = 0;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& life = lifetimes[i];
    if (life.fixed_offset) {
      EXPECT_EQ(plan.offsets[i], *life.fixed_offset);
    }
    EXPECT_EQ(plan.offsets[i] % life.alignment, 0u);
    if (life.size_bytes == 0) continue;
    end = std::max(end, plan.offsets[i] + SlotBytes(life));
    if (life.fixed_offset) {
      fixed_end = std::max(fixed_end, plan.offsets[i] + SlotBytes(life));
    }
  }
  EXPECT_EQ(plan.size_bytes, end);
  uint64_t peak = 0;
  for (uint64_t step = 0; step < 1000; ++step) {
    uint64_t live = 0;
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      const Lifetime& life = lifetimes[i];
      if (life.size_bytes == 0 || !IsAliveAt(life, step)) continue;
      live += SlotBytes(life);
      taken.push_back({plan.offsets[i], plan.offsets[i] + SlotBytes(life)});
    }
    std::sort(taken.begin(), taken.end());
    for (size_t i = 1; i < taken.size(); ++i) {
      ASSERT_LE(taken[i - 1].second, taken[i].first) << "at step " << step;
    }
    peak = std::max(peak, live);
  }
  EXPECT_EQ(plan.bound_bytes, std::max(peak, fixed_end));
  EXPECT_GE(plan.size_bytes, plan.bound_bytes);
}

struct RandomLifetimes {
  uint32_t max_count = 80;
  uint32_t num_steps = 100;
  uint32_t max_length = 20;
  bool has_alignments = false;
  bool has_gaps = false;
  bool has_fixed = false;

  std::vector<Lifetime> Draw(std::mt19937& random) const {
    std::vector<Lifetime> out(random() % max_count);
    uint64_t fixed_end = 0;
    for (Lifetime& life : out) {
      life.size_bytes = random() % 8 == 0 ? 0 : random() % 5000;
      life.first = random() % num_steps;
      life.last = life.first + random() % max_length;
      if (has_alignments) life.alignment = uint64_t{1} << random() % 10;
      if (has_gaps) AddGaps(random, &life);
      // Above each other, so that they can't overlap.
      if (has_fixed && random() % 6 == 0) {
        life.fixed_offset = (fixed_end + random() % 700 + life.alignment - 1) /
                            life.alignment * life.alignment;
        fixed_end = *life.fixed_offset + SlotBytes(life);
      }
    }
    return out;
  }

  static void AddGaps(std::mt19937& random, Lifetime* life) {
    uint32_t step = life->first + 1 + random() % 4;
    while (step + 1 < life->last && random() % 3 != 0) {
      const uint32_t last =
          std::min(life->last - 1, step + uint32_t(random() % 5));
      life->gaps.push_back({step, last});
      step = last + 1 + random() % 4;
    }
  }
};

class MemoryPlanOf : public testing::TestWithParam<RandomLifetimes> {};

TEST_P(MemoryPlanOf, RandomLifetimes) {
  std::mt19937 random(7);
  for (int round = 0; round < 150; ++round) {
    const std::vector<Lifetime> lifetimes = GetParam().Draw(random);
    for (const uint64_t budget : {0u, 3000u, 100'000u}) {
      const auto plan = Plan(lifetimes, {budget});
      ASSERT_TRUE(plan);
      ASSERT_NO_FATAL_FAILURE(Check(lifetimes, *plan)) << "round " << round;
      EXPECT_FALSE(FindOverlap(lifetimes, plan->offsets));
      EXPECT_EQ(Plan(lifetimes, {budget})->offsets, plan->offsets);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MemoryPlanOf,
                         testing::Values(RandomLifetimes{},                   //
                                         RandomLifetimes{.max_length = 1},    //
                                         RandomLifetimes{.num_steps = 1},     //
                                         RandomLifetimes{.max_length = 100},  //
                                         RandomLifetimes{
                                             .has_alignments = true},         //
                                         RandomLifetimes{.has_gaps = true},   //
                                         RandomLifetimes{.has_fixed = true},  //
                                         RandomLifetimes{.max_length = 60,
                                                         .has_alignments = true,
                                                         .has_gaps = true,
                                                         .has_fixed = true}));

TEST(MemoryPlan, OfNothing) {
  const auto plan = Plan({});
  EXPECT_EQ(plan->size_bytes, 0u);
  EXPECT_EQ(plan->bound_bytes, 0u);
  EXPECT_EQ(plan->ratio(), 1);
}

TEST(MemoryPlan, EmptyBuffersTakeNothing) {
  const auto plan = Plan({{0, 0, 9}, {0, 0, 9, 64, 128}, {100, 0, 9}});
  EXPECT_EQ(plan->offsets, (std::vector<uint64_t>{0, 128, 0}));
  EXPECT_EQ(plan->size_bytes, 128u);
}

TEST(MemoryPlan, BuffersThatNeverMeetShareTheirPlace) {
  const auto plan = Plan({{100, 0, 3}, {90, 4, 6}, {80, 7, 7}});
  EXPECT_EQ(plan->offsets, (std::vector<uint64_t>{0, 0, 0}));
  EXPECT_EQ(plan->size_bytes, 128u);
}

// The first inclusive step of one is the last of the other: they meet.
TEST(MemoryPlan, LastStepsCount) {
  EXPECT_EQ(Plan({{64, 0, 3}, {64, 3, 6}})->size_bytes, 128u);
}

TEST(MemoryPlan, GapsAreForOthers) {
  const Lifetime outer = {64, 0, 9, 64, {}, {{3, 6}}};
  EXPECT_EQ(Plan({outer, {64, 3, 6}})->size_bytes, 64u);
  EXPECT_EQ(Plan({outer, {64, 3, 7}})->size_bytes, 128u);
  EXPECT_EQ(Plan({outer, {64, 2, 6}})->size_bytes, 128u);
}

TEST(MemoryPlan, FillsUnderAFixedBuffer) {
  const auto plan = Plan({{64, 0, 9, 64, 256}, {128, 0, 5}, {128, 3, 9}});
  EXPECT_EQ(plan->size_bytes, 320u);
  EXPECT_EQ(plan->ratio(), 1);
}

TEST(MemoryPlan, StepsMayBeFarApart) {
  const auto plan = Plan({{64, 0, UINT32_MAX},
                          {64, 5, 1'000'000'000},
                          {64, 2'000'000'000, UINT32_MAX}});
  EXPECT_EQ(plan->size_bytes, 128u);
}

// --- awkward patterns -------------------------------------------------------

void ExpectPerfect(const std::vector<Lifetime>& lifetimes) {
  const auto plan = Plan(lifetimes);
  ASSERT_TRUE(plan);
  ASSERT_NO_FATAL_FAILURE(Check(lifetimes, *plan));
  EXPECT_EQ(plan->size_bytes, plan->bound_bytes);
}

TEST(MemoryPlan, Nested) {
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < 200; ++i) {
    lifetimes.push_back({64 * (1 + i % 7), i, 400 - i});
  }
  ExpectPerfect(lifetimes);
}

TEST(MemoryPlan, Staircase) {
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < 300; ++i) {
    lifetimes.push_back({64 * (1 + i), i, i + 2});
  }
  ExpectPerfect(lifetimes);
  for (Lifetime& life : lifetimes) life.size_bytes = 64 * 301 - life.size_bytes;
  ExpectPerfect(lifetimes);
}

// Long ones between short ones; then what comes late wants the room of all the
// short ones in one piece.
TEST(MemoryPlan, Comb) {
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < 40; ++i) {
    lifetimes.push_back({64, i, 100});
    lifetimes.push_back({64, i, 50});
  }
  lifetimes.push_back({64 * 40, 60, 90});
  ExpectPerfect(lifetimes);
}

// One small buffer from begin to end, and large ones in turns.
TEST(MemoryPlan, ResidualConnections) {
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < 300; ++i) {
    lifetimes.push_back({i % 4 == 0 ? 4096u : 1024u * (1 + i % 3), i,
                         i + (i % 4 == 0 ? 4 : 1)});
  }
  lifetimes.push_back({64, 0, 310});
  ExpectPerfect(lifetimes);
}

TEST(MemoryPlan, ManyBuffersAreCloseToTheBound) {
  std::mt19937 random(3);
  std::vector<Lifetime> lifetimes;
  for (uint32_t i = 0; i < 20'000; ++i) {
    lifetimes.push_back(
        {64 * (1 + random() % 1000), i, i + 1 + uint32_t(random() % 3)});
  }
  const auto plan = Plan(lifetimes);
  EXPECT_FALSE(FindOverlap(lifetimes, plan->offsets));
  EXPECT_LE(plan->ratio(), 1.01);
}

// --- what can't be planned --------------------------------------------------

constexpr uint64_t kHuge = uint64_t{1} << 62;

TEST(MemoryPlan, HugeBuffersInTurns) {
  const auto plan = Plan({{kHuge, 0, 1}, {kHuge, 2, 3}, {kHuge, 4, 5}});
  EXPECT_EQ(plan->size_bytes, kHuge);
  EXPECT_EQ(Plan({{kHuge * 2 - 64, 0, 1}})->size_bytes, kHuge * 2 - 64);
}

TEST(MemoryPlan, SizesBeyond63Bits) {
  EXPECT_NE(ErrorOf({{kHuge, 0, 1}, {kHuge, 1, 3}}).find("alive at one step"),
            std::string::npos);
  EXPECT_NE(ErrorOf({{kHuge * 2 - 1, 0, 1}}).find("2^63 - 1"),
            std::string::npos);
  EXPECT_NE(ErrorOf({{UINT64_MAX, 0, 1}}).find("2^63 - 1"), std::string::npos);
  EXPECT_NE(ErrorOf({{1, 0, 1, kHuge * 2}}).find("2^63 - 1"),
            std::string::npos);
  // At each step there is room, but never in the same place.
  EXPECT_NE(ErrorOf({{kHuge, 0, 1, 64, kHuge - 64},
                     {kHuge - 64, 1, 3},
                     {64, 2, 3, 64, 0}})
                .find("no plan found"),
            std::string::npos);
}

TEST(MemoryPlan, ContradictoryLifetimes) {
  EXPECT_NE(ErrorOf({{64, 5, 4}}).find("from step 5 to step 4"),
            std::string::npos);
  EXPECT_NE(ErrorOf({{64, 0, 4, 48}}).find("no power of two"),
            std::string::npos);
  EXPECT_NE(ErrorOf({{64, 0, 4, 0}}).find("no power of two"),
            std::string::npos);
  EXPECT_NE(ErrorOf({{64, 0, 4, 64, 32}}).find("isn't aligned"),
            std::string::npos);
  EXPECT_NE(ErrorOf({{64, 0, 4, 64, {}, {{0, 1}}}}).find("out of order"),
            std::string::npos);
  EXPECT_NE(ErrorOf({{64, 0, 4, 64, {}, {{3, 4}}}}).find("out of order"),
            std::string::npos);
  EXPECT_NE(
      ErrorOf({{64, 0, 9, 64, {}, {{5, 6}, {2, 3}}}}).find("out of order"),
      std::string::npos);
  EXPECT_EQ(ErrorOf({{64, 0, 9}, {64, 0, 4, 64, 0}, {128, 4, 5, 64, 0}}),
            "buffers 1 and 2 are fixed at places that overlap, and alive "
            "together");
  EXPECT_NE(ErrorOf({{64, 0, 4, 64, UINT64_MAX - 63}}).find("end behind"),
            std::string::npos);
}

TEST(MemoryPlan, FixedBuffersMayShareAPlaceInTurns) {
  EXPECT_EQ(Plan({{64, 0, 3, 64, 64}, {64, 4, 5, 64, 64}})->size_bytes, 128u);
}

TEST(FindOverlap, FindsWhatSharesAByte) {
  const std::vector<Lifetime> lifetimes = {{64, 0, 3}, {64, 3, 5}, {1, 3, 3}};
  using Offsets = std::vector<uint64_t>;
  EXPECT_FALSE(FindOverlap(lifetimes, Offsets{0, 64, 128}));
  EXPECT_EQ(FindOverlap(lifetimes, Offsets{0, 0, 128}), std::pair(0ul, 1ul));
  EXPECT_EQ(FindOverlap(lifetimes, Offsets{0, 128, 64 + 128}).has_value(),
            false);
  EXPECT_EQ(FindOverlap(lifetimes, Offsets{0, 128, 64 + 127}),
            std::pair(1ul, 2ul));
}

}  // namespace
}  // namespace tenon
