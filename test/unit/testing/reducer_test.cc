#include "testing/reducer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <vector>

#include "testing/generator.h"

namespace tenon {
namespace {

size_t CountOperator(const Program& program, std::string_view name) {
  size_t count = 0;
  for (const NodeId n : program.nodes(Program::kRoot)) {
    if (program.node(n).kind == NodeKind::kOp && program.op_name(n) == name) {
      ++count;
    }
  }
  return count;
}

std::vector<bool> Reached(const Program& program) {
  std::vector<bool> is_reached(program.num_graphs(), false);
  std::vector<GraphId> open = {Program::kRoot};
  while (!open.empty()) {
    const GraphId g = open.back();
    open.pop_back();
    if (is_reached[g.index]) continue;
    is_reached[g.index] = true;
    for (const NodeId n : program.nodes(g)) {
      program.ForEachNestedGraph(n, [&](GraphId h) { open.push_back(h); });
    }
  }
  return is_reached;
}

TEST(Reducer, LeavesWhatFails) {
  testing::GeneratorOptions options;
  options.num_nodes = 60;
  const Program program =
      testing::GenerateProgram(options, std::make_shared<Context>());
  const size_t count = CountOperator(program, "aten.tanh.default");
  ASSERT_GT(count, 2u);
  const Program smallest =
      testing::Reduce(program, [](const Program& candidate) {
        return CountOperator(candidate, "aten.tanh.default") >= 2;
      });
  EXPECT_EQ(smallest.CountNodes(Program::kRoot), 2u);
  EXPECT_EQ(CountOperator(smallest, "aten.tanh.default"), 2u);
  // The one that it was given is as it was.
  EXPECT_EQ(CountOperator(program, "aten.tanh.default"), count);
}

TEST(Reducer, ErasesGraphsThatNobodyCalls) {
  testing::GeneratorOptions options;
  options.shape = testing::ProgramShape::kRandom;
  options.with_child_calls = true;
  options.num_nodes = 40;
  for (options.seed = 0; options.seed < 10; ++options.seed) {
    const Program program =
        testing::GenerateProgram(options, std::make_shared<Context>());
    const Program smallest =
        testing::Reduce(program, [](const Program&) { return true; });
    const std::vector<bool> is_reached = Reached(smallest);
    for (uint32_t g = 0; g < smallest.num_graphs(); ++g) {
      EXPECT_EQ(smallest.graph(GraphId(g)).is_erased, !is_reached[g]);
    }
    EXPECT_LT(smallest.CountNodes(Program::kRoot),
              program.CountNodes(Program::kRoot));
  }
}

}  // namespace
}  // namespace tenon
