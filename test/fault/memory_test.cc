// Every allocation of a scene fails once, with the whole scene done for each:
// an error, and nothing is left or lost.
#include <gtest/gtest.h>

#include "fault/faults.h"
#include "fault/scenes.h"

namespace tenon::fault {
namespace {

class EachAllocation : public ::testing::TestWithParam<Scene> {};

TEST_P(EachAllocation, FailsOnceWithoutATrace) {
  const Scene& scene = GetParam();
  const std::string folder = Prepare(scene);
  const Traces before = Observe(scene, folder);
  uint64_t num_survived = 0;
  for (uint64_t n = 1;; ++n) {
    const int64_t live = LiveAllocations();
    {
      FailNth failing(Call::kAllocate, n, 0);
      const Errors errors = scene.run(folder);
      if (!failing.has_failed()) break;
      // Where memory is only wished for, work goes on without it.
      if (errors.empty()) ++num_survived;
    }
    ASSERT_EQ(LiveAllocations(), live) << "allocation " << n;
    const bool is_milestone = (n & (n - 1)) == 0;
    if (!is_milestone || num_survived > 0) continue;
    const Traces after = Observe(scene, folder);
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

}  // namespace
}  // namespace tenon::fault
