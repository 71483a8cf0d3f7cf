#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "link/outline.h"
#include "partition/partition.h"
#include "testing/generator.h"

namespace tenon {
namespace {

Program Generate(testing::ProgramShape shape, size_t num_nodes, uint64_t seed) {
  testing::GeneratorOptions options;
  options.shape = shape;
  options.num_nodes = num_nodes;
  options.seed = seed;
  return testing::GenerateProgram(options, std::make_shared<Context>());
}

std::vector<uint32_t> RandomColors(const Program& program, uint32_t num_colors,
                                   uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> color(program.CountNodes(Program::kRoot));
  for (uint32_t& c : color) {
    c = static_cast<uint32_t>(random() % (num_colors + 1));
    if (c == num_colors) c = kUncolored;
  }
  return color;
}

// P-1: outlining refuses regions that aren't convex together, so it judges.
TEST(Cut, P1RegionsOfAnyColoringCanBeOutlined) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program = Generate(testing::ProgramShape::kRandom, 60, seed);
    const uint32_t num_colors = 1 + static_cast<uint32_t>(seed % 5);
    const auto color = RandomColors(program, num_colors, seed);
    std::vector<RegionNodes> regions;
    size_t num_colored = 0;
    for (const uint32_t c : color) num_colored += c != kUncolored;
    for (ColoredRegion& r :
         CutByColor(program, Program::kRoot, color, num_colors)) {
      num_colored -= r.nodes.size();
      regions.push_back({"r", "", std::move(r.nodes)});
    }
    EXPECT_EQ(num_colored, 0u) << "every colored node is in one region";
    Diagnostics diags;
    EXPECT_TRUE(OutlineRegions(&program, Program::kRoot, regions, diags))
        << diags.ToString();
  }
}

// Along a chain, one region per run of wanted nodes is the least possible.
TEST(Cut, P6AChainHasOneRegionPerRun) {
  const Program program = Generate(testing::ProgramShape::kChain, 100, 0);
  std::vector<uint32_t> color(program.CountNodes(Program::kRoot), 0);
  for (size_t i = 9; i + 1 < color.size(); i += 10) color[i] = kUncolored;
  size_t num_runs = 0;
  for (size_t i = 0; i < color.size(); ++i) {
    num_runs += color[i] == 0 && (i == 0 || color[i - 1] == kUncolored);
  }
  EXPECT_EQ(CutByColor(program, Program::kRoot, color, 1).size(), num_runs);
}

TEST(Cut, P6IndependentNodesShareOneRegion) {
  const Program program = Generate(testing::ProgramShape::kWide, 100, 0);
  const std::vector<uint32_t> color(program.CountNodes(Program::kRoot), 0);
  EXPECT_EQ(CutByColor(program, Program::kRoot, color, 1).size(), 1u);
}

TEST(Cut, P1IsDeterministic) {
  const Program program = Generate(testing::ProgramShape::kRandom, 80, 7);
  const auto color = RandomColors(program, 3, 7);
  const auto a = CutByColor(program, Program::kRoot, color, 3);
  const auto b = CutByColor(program, Program::kRoot, color, 3);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].color, b[i].color);
    EXPECT_EQ(a[i].nodes, b[i].nodes);
  }
}

}  // namespace
}  // namespace tenon
