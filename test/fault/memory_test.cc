// Every allocation of a scene fails once, with the whole scene done for each:
// an error, and nothing is left or lost.
#include <gtest/gtest.h>

#include "fault/faults.h"
#include "fault/scenes.h"
#include "tenon/model.h"

namespace tenon::fault {
namespace {

class EachAllocation : public ::testing::TestWithParam<Scene> {};

TEST_P(EachAllocation, FailsOnceWithoutATrace) {
  const Scene& scene = GetParam();
  const Places places = Prepare(scene);
  Traces before = Observe(places);
  for (uint64_t n = 1;; ++n) {
    const int64_t live = LiveAllocations();
    bool is_done = false;
    {
      FailNth failing(Call::kAllocate, n, 0);
      is_done = scene.run(places).empty();
      if (!failing.has_failed()) break;
    }
    ASSERT_EQ(LiveAllocations(), live) << "allocation " << n;
    // Where memory is only wished for, work goes on without it.
    if (is_done) before.target = places.result;
    const bool is_milestone = (n & (n - 1)) == 0;
    if (!is_done && !is_milestone) continue;
    const Traces after = Observe(places);
    ASSERT_EQ(after.files, before.files) << "allocation " << n;
    ASSERT_EQ(after.target, before.target) << "allocation " << n;
    ASSERT_EQ(after.num_descriptors, before.num_descriptors);
    ASSERT_EQ(after.num_mappings, before.num_mappings);
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, EachAllocation,
                         ::testing::ValuesIn(AllScenes().begin(),
                                             AllScenes().end()),
                         [](const auto& test) {
                           return std::string(test.param.name);
                         });

// A model and its context outlive what failed on them.
TEST(Memory, ThatRunsOutLeavesTheModelAsItWas) {
  const Places places = Prepare(GetScene("export_none"));
  const auto model = Model::Open(places.source);
  ASSERT_TRUE(model);
  ASSERT_TRUE(model->Save(places.target));
  const std::string whole = Observe(places).target;
  const std::string digest = model->digest();
  for (uint64_t n = 1;; ++n) {
    {
      FailNth failing(Call::kAllocate, n, 0);
      const auto hybrid = model->Export({});
      if (hybrid) hybrid->Save(places.target).ok();
      if (!failing.has_failed()) break;
    }
    ASSERT_EQ(model->digest(), digest) << "allocation " << n;
  }
  ASSERT_TRUE(model->Save(places.target));
  EXPECT_EQ(Observe(places).target, whole);
}

}  // namespace
}  // namespace tenon::fault
