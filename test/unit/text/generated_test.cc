// Generated programs of every shape come back from their text.
#include "round_trip.h"
#include "testing/generator.h"

namespace tenon {
namespace {

using testing::GeneratorOptions;
using testing::ProgramShape;

TEST(TextGenerated, EveryShape) {
  for (const ProgramShape shape :
       {ProgramShape::kChain, ProgramShape::kDiamond, ProgramShape::kWide,
        ProgramShape::kLayers, ProgramShape::kRandom}) {
    for (const size_t num_nodes : {8u, 50u, 500u}) {
      GeneratorOptions options;
      options.shape = shape;
      options.num_nodes = num_nodes;
      RoundTrip(testing::GenerateProgram(options, std::make_shared<Context>()));
    }
  }
}

TEST(TextGenerated, ManyRandomPrograms) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    GeneratorOptions options;
    options.shape = ProgramShape::kRandom;
    options.num_nodes = 5 + seed % 60;
    options.seed = seed;
    options.with_child_calls = seed % 2 == 1;
    RoundTrip(testing::GenerateProgram(options, std::make_shared<Context>()));
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

// What the text doesn't say, a second context can't know: types, hints, names
// are compared with the original in words.
TEST(TextGenerated, EachNodeReadsTheSame) {
  GeneratorOptions options;
  options.shape = ProgramShape::kRandom;
  options.num_nodes = 200;
  for (options.seed = 0; options.seed < 20; ++options.seed) {
    const Program p =
        testing::GenerateProgram(options, std::make_shared<Context>());
    const Program q = RoundTrip(p);
    ASSERT_EQ(p.CountNodes(Program::kRoot), q.CountNodes(Program::kRoot));
    NodeId n = q.root().first;
    for (const NodeId m : p.nodes(Program::kRoot)) {
      EXPECT_EQ(PrintNode(p, m), PrintNode(q, n));
      n = q.node(n).next;
    }
  }
}

}  // namespace
}  // namespace tenon
