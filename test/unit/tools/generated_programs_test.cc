// What must hold of every program, on programs that the generator makes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "analysis/digest.h"
#include "export/divergence.h"
#include "export/export.h"
#include "formats/pt2/pt2.h"
#include "graph_diff.h"
#include "link/join.h"
#include "state_diff.h"
#include "testing/choices.h"
#include "testing/generator.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

using testing::GenerateProgram;
using testing::GeneratorOptions;
using testing::ProgramShape;

constexpr ProgramShape kShapes[] = {
    ProgramShape::kChain, ProgramShape::kDiamond, ProgramShape::kWide,
    ProgramShape::kLayers, ProgramShape::kRandom};

GeneratorOptions Options(ProgramShape shape, size_t num_nodes, uint64_t seed,
                         bool with_child_calls = false) {
  return {shape, num_nodes, seed, with_child_calls};
}

Program Generate(const GeneratorOptions& options) {
  return GenerateProgram(options, std::make_shared<Context>());
}

std::string Text(const Program& program) {
  PrintOptions options;
  options.inline_limit_bytes = SIZE_MAX;
  return PrintProgram(program, options);
}

class TemporaryFolder {
 public:
  TemporaryFolder() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~TemporaryFolder() {
    unlink(file().c_str());
    rmdir(path_.c_str());
  }
  std::string file() const { return path_ + "/model.pt2"; }

 private:
  std::string path_ = "/tmp/tenon-test-XXXXXX";
};

class ShapeTest : public ::testing::TestWithParam<ProgramShape> {};

TEST_P(ShapeTest, HasTheWantedNumberOfNodes) {
  for (const size_t n : {8, 9, 10, 100, 1001}) {
    const Program program = Generate(Options(GetParam(), n, 1));
    const size_t count = program.CountNodes(Program::kRoot);
    if (GetParam() == ProgramShape::kRandom) {
      EXPECT_GE(count, n / 2);
    } else {
      EXPECT_EQ(count, n);
    }
  }
}

TEST_P(ShapeTest, Verifies) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const bool with_calls : {false, true}) {
      const Program program =
          Generate(Options(GetParam(), 40, seed, with_calls));
      Diagnostics diags;
      EXPECT_TRUE(Verify(program, VerifyOptions(), diags).ok())
          << "seed " << seed << "\n"
          << diags.ToString() << Text(program);
      if (diags.has_errors()) return;
    }
  }
}

TEST_P(ShapeTest, IsDeterministicAndDependsOnTheSeed) {
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const std::string text = Text(Generate(Options(GetParam(), 50, seed)));
    EXPECT_EQ(text, Text(Generate(Options(GetParam(), 50, seed))));
    texts.insert(text);
  }
  EXPECT_GT(texts.size(), 1u);
}

TEST_P(ShapeTest, PrintsAndParsesBack) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Program program = Generate(Options(GetParam(), 40, seed, true));
    const std::string text = Text(program);
    Diagnostics diags;
    const auto parsed = ParseProgram(
        text, "t", std::make_shared<Context>(),
        [](const Digest&) {
          return std::pair<Bytes, std::shared_ptr<const void>>();
        },
        diags);
    ASSERT_TRUE(parsed.ok()) << diags.ToString() << text;
    EXPECT_EQ(Text(*parsed), text);
    EXPECT_EQ(WiringDigest(*parsed), WiringDigest(program)) << text;
  }
}

TEST_P(ShapeTest, IsWrittenAndReadBack) {
  TemporaryFolder folder;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Program program = Generate(Options(GetParam(), 40, seed));
    Diagnostics diags;
    ASSERT_TRUE(WritePt2(program, folder.file(), {}, diags).ok())
        << diags.ToString();
    const auto read = ReadPt2(folder.file(), std::make_shared<Context>(),
                              Pt2ReadOptions(), diags);
    ASSERT_TRUE(read.ok()) << diags.ToString();
    EXPECT_EQ(WiringDigest(*read), WiringDigest(program))
        << "seed " << seed << "\n"
        << Text(program) << Text(*read);
    EXPECT_TRUE(tools::CompareState(program, *read).empty());
  }
}

TEST_P(ShapeTest, StaysTheSameWhenCutAtRandomAndJoined) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Program program = Generate(Options(GetParam(), 40, seed));
    Program cut = program.Clone();
    ExportOptions options;
    options.num_random_colors = 3;
    options.cut_seed = seed;
    Diagnostics diags;
    ASSERT_TRUE(ExportProgram(&cut, options, diags).ok())
        << "seed " << seed << "\n"
        << diags.ToString() << Text(program);
    EXPECT_EQ(WiringDigest(cut), WiringDigest(program)) << "seed " << seed;
  }
}

TEST_P(ShapeTest, StaysTheSameWhenChildrenAreJoined) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Program program = Generate(Options(GetParam(), 40, seed, true));
    Program joined = program.Clone();
    Diagnostics diags;
    ASSERT_TRUE(JoinAll(&joined, diags).ok()) << diags.ToString();
    EXPECT_TRUE(Verify(joined, VerifyOptions(), diags).ok())
        << "seed " << seed << "\n"
        << diags.ToString();
    EXPECT_EQ(WiringDigest(joined), WiringDigest(program)) << "seed " << seed;
  }
}

TEST_P(ShapeTest, DiffersFromItselfInNothing) {
  const Program program = Generate(Options(GetParam(), 60, 3, true));
  EXPECT_FALSE(FindDivergence(program, program.Clone()).has_value());
  for (const tools::GraphDiff& diff :
       tools::DiffPrograms(program, program.Clone())) {
    EXPECT_TRUE(diff.changes.empty());
  }
  EXPECT_TRUE(tools::CompareState(program, program.Clone()).empty());
}

INSTANTIATE_TEST_SUITE_P(Shapes, ShapeTest, ::testing::ValuesIn(kShapes),
                         [](const auto& shape) {
                           return std::string(testing::Name(shape.param));
                         });

// Changes one literal or operand of one live node.
TEST(OneChangeTest, IsFoundByDigestDivergenceAndDiff) {
  int num_changed = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Program program = Generate(Options(ProgramShape::kChain, 30, seed));
    Program changed = program.Clone();
    const ValueId y = changed.root().inputs[1];
    // The first binary node takes the other input instead of a step.
    for (const NodeId n : changed.nodes(Program::kRoot)) {
      const Node& node = changed.node(n);
      if (node.kind != NodeKind::kOp || node.args.count != 2) continue;
      if (changed.arg(node.args[0]).value() == y) continue;
      changed.SetValueArg(node.args[0], n, y);
      ++num_changed;
      const auto divergence = FindDivergence(program, changed);
      ASSERT_TRUE(divergence.has_value()) << "seed " << seed;
      EXPECT_EQ(divergence->root, "output 0");
      EXPECT_NE(divergence->source, divergence->result);
      const auto diffs = tools::DiffPrograms(program, changed);
      ASSERT_EQ(diffs.size(), 1u);
      // Only this node, and not all that follow it.
      EXPECT_EQ(diffs[0].changes.size(), 1u);
      break;
    }
  }
  EXPECT_EQ(num_changed, 40);
}

TEST(ChoicesTest, AnyBytesAreAProgram) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    testing::Choices choices(seed);
    std::string bytes(choices.Below(300), '\0');
    for (char& c : bytes) c = static_cast<char>(choices.Below(256));
    const Program program =
        GenerateProgram(Options(ProgramShape::kRandom, 20, 0, true),
                        AsBytes(bytes), std::make_shared<Context>());
    Diagnostics diags;
    EXPECT_TRUE(Verify(program, VerifyOptions(), diags).ok())
        << "seed " << seed << "\n"
        << diags.ToString();
  }
}

}  // namespace
}  // namespace tenon
