#include "memory/memory_picture.h"

#include <gtest/gtest.h>

#include "memory/memory_plan.h"

namespace tenon {
namespace {

TEST(MemoryPicture, HasARectangleForEachTimeOfLife) {
  const std::vector<Lifetime> lifetimes = {
      {64, 0, 9, 64, {}, {{3, 4}, {5, 6}}}, {0, 0, 9}, {32, 4, 5}};
  const std::vector<uint64_t> offsets = {0, 0, 0};
  const std::vector<std::string> about = {"a", "b", "c"};
  const auto buffers = PictureBuffers(lifetimes, offsets, about);
  ASSERT_EQ(buffers.size(), 3u);
  EXPECT_EQ(buffers[0].steps, (StepRange{0, 2}));
  EXPECT_EQ(buffers[1].steps, (StepRange{7, 9}));
  EXPECT_EQ(buffers[2].steps, (StepRange{4, 5}));
  EXPECT_EQ(buffers[2].about, "c");

  const PicturedPlan plans[] = {{"x & y", 10, 64, buffers},
                                {"empty", 0, 0, {}}};
  const std::string svg = MemoryAsSvg(plans);
  EXPECT_NE(svg.find("x &amp; y: 10 steps, arena 64 B"), std::string::npos);
  EXPECT_NE(svg.find("32 B at 0, steps 4 to 5: c"), std::string::npos);
  EXPECT_EQ(svg.find("empty"), std::string::npos);
}

}  // namespace
}  // namespace tenon
