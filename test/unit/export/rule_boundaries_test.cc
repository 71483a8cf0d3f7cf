// Random programs cut into children and children's children, whose boundaries
// and labels are then changed in every way that means nothing: joined, they are
// the source again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "analysis/digest.h"
#include "analysis/effects.h"
#include "export/export.h"
#include "link/join.h"
#include "link/outline.h"
#include "partition/partition.h"
#include "property.h"
#include "testing/boundary_edits.h"
#include "testing/renaming.h"
#include "testing/wrong_joins.h"

namespace tenon {
namespace {

using testing::Choices;

// Up to `num_children` convex regions of `graph`, at random places, become
// children. Returns them.
std::vector<GraphId> CutSome(Program* program, GraphId graph,
                             uint32_t num_children, Choices* choices) {
  constexpr uint32_t kNumColors = 3;
  std::vector<uint32_t> color;
  for (const NodeId n : program->nodes(graph)) {
    if (n == program->graph(graph).output) break;
    const uint32_t c = choices->Below(kNumColors + 1);
    color.push_back(c < kNumColors ? c : kUncolored);
  }
  std::vector<RegionNodes> regions;
  for (ColoredRegion& region : CutByColor(*program, graph, color, kNumColors)) {
    if (regions.size() == num_children) break;
    // Those that are left out stay in the parent: fewer regions leave no cycle
    // where more didn't.
    if (choices->OneIn(5)) continue;
    RegionNodes nodes;
    nodes.name = "region_" + std::to_string(regions.size());
    nodes.nodes = std::move(region.nodes);
    regions.push_back(std::move(nodes));
  }
  Diagnostics diags;
  const auto outlined = OutlineRegions(program, graph, regions, diags);
  EXPECT_TRUE(outlined) << diags.ToString();
  std::vector<GraphId> children;
  if (!outlined) return children;
  for (const Outlined& o : *outlined) children.push_back(o.child);
  return children;
}

// Two to eight children, each with up to three of its own, and so once more.
void CutNested(Program* program, Choices* choices) {
  const uint32_t wanted = 2 + choices->Below(7);
  std::vector<GraphId> level =
      CutSome(program, Program::kRoot, wanted, choices);
  for (int depth = 0; depth < 2; ++depth) {
    std::vector<GraphId> next;
    for (const GraphId g : level) {
      for (const GraphId child :
           CutSome(program, g, choices->Below(4), choices)) {
        next.push_back(child);
      }
    }
    level = std::move(next);
  }
}

std::string CheckStep(const char* step, const Program& program,
                      const Digest& digest) {
  const std::string refusal = WhyRefused(program);
  if (!refusal.empty()) return std::string(step) + ": " + refusal;
  if (WiringDigest(program) == digest) return "";
  return std::string(step) + ": another digest";
}

bool HasCalls(const Program& program) {
  for (const NodeId n : program.nodes(Program::kRoot)) {
    if (program.node(n).kind == NodeKind::kChildCall) return true;
  }
  return false;
}

// Joins a copy and compares with the source: J-10, T-2, and what it computes.
std::string CheckJoined(const Program& hybrid, const Program& source,
                        uint64_t seed, bool with_results) {
  Program joined = hybrid.Clone();
  Diagnostics diags;
  if (!JoinAll(&joined, diags)) return diags.ToString();
  const std::string why = CheckStep("joined", joined, WiringDigest(source));
  if (!why.empty()) return why;
  if (HasCalls(joined)) return "a call is left";
  if (joined.in_spec != source.in_spec || joined.out_spec != source.out_spec) {
    return "other specs";
  }
  if (joined.root().inputs != source.root().inputs) return "other inputs";
  if (!with_results) return "";
  return Difference(RunTwice(source, seed), RunTwice(joined, seed));
}

TEST(Boundaries, P7NestedCutsAreJoinedToTheSameText) {
  ForRandomPrograms(80, false, [](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    const std::vector<uint32_t> positions =
        NodePositions(program, Program::kRoot);
    Choices choices(seed);
    CutNested(&program, &choices);
    const std::string why = CheckStep("cut", program, WiringDigest(source));
    if (!why.empty()) return why;
    Diagnostics diags;
    if (!JoinAll(&program, diags)) return diags.ToString();
    RestoreOrder(&program, Program::kRoot, positions);
    for (const NodeId n : program.nodes(Program::kRoot)) {
      program.mutable_node(n).region = source.node(n).region;
    }
    program.regions = source.regions;
    return TextOf(program) == TextOf(source) ? std::string() : "another text";
  });
}

TEST(Boundaries, J4ShuffledDoubledAndUnusedOutputs) {
  ForRandomPrograms(60, false, [](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    Choices choices(seed);
    CutNested(&program, &choices);
    testing::ShuffleOutputs(&program, &choices);
    const std::string why =
        CheckStep("outputs shuffled", program, WiringDigest(source));
    if (!why.empty()) return why;
    return CheckJoined(program, source, seed, true);
  });
}

TEST(Boundaries, J1ShuffledInputsAndKeywords) {
  ForRandomPrograms(60, false, [](const Program& source, uint64_t seed) {
    const Digest digest = WiringDigest(source);
    Program program = source.Clone();
    Choices choices(seed);
    CutNested(&program, &choices);
    testing::ShuffleInputs(&program, &choices);
    std::string why = CheckStep("inputs shuffled", program, digest);
    if (!why.empty()) return why;
    testing::PassByKeyword(&program, &choices);
    why = CheckStep("passed by keyword", program, digest);
    if (!why.empty()) return why;
    return CheckJoined(program, source, seed, true);
  });
}

TEST(Boundaries, J7CallsRepeated) {
  ForRandomPrograms(60, true, [](const Program& source, uint64_t seed) {
    Program program = source.Clone();
    Choices choices(seed);
    CutNested(&program, &choices);
    testing::RepeatCalls(&program, &choices, [&](NodeId call) {
      return !HasEffects(program, call);
    });
    const std::string why =
        CheckStep("calls repeated", program, WiringDigest(source));
    if (!why.empty()) return why;
    return CheckJoined(program, source, seed, true);
  });
}

// Everything at once, under names that are made to mislead.
TEST(Boundaries, J2MisleadingNames) {
  for (const testing::Renaming renaming : testing::AllRenamings()) {
    SCOPED_TRACE(std::string(testing::Name(renaming)));
    ForRandomPrograms(20, true, [&](const Program& source, uint64_t seed) {
      const Digest digest = WiringDigest(source);
      Program program = source.Clone();
      Choices choices(seed);
      CutNested(&program, &choices);
      testing::ShuffleOutputs(&program, &choices);
      testing::ShuffleInputs(&program, &choices);
      testing::PassByKeyword(&program, &choices);
      testing::Rename(&program, renaming, &choices);
      std::string why = CheckStep("renamed", program, digest);
      if (!why.empty()) return why;
      Diagnostics diags;
      const auto parsed =
          ParseProgram(TextOf(program), "renamed", std::make_shared<Context>(),
                       PayloadSource(), diags);
      if (!parsed) return diags.ToString();
      why = CheckStep("parsed", *parsed, digest);
      if (!why.empty()) return why;
      return CheckJoined(program, source, seed, false);
    });
  }
}

// In a file names refer: they are made unique there, and refer to what they
// did.
TEST(Boundaries, J2MisleadingNamesInAFile) {
  const std::string path =
      ::testing::TempDir() + "/boundaries_" + std::to_string(getpid());
  for (const testing::Renaming renaming : testing::AllRenamings()) {
    SCOPED_TRACE(std::string(testing::Name(renaming)));
    ForRandomPrograms(10, false, [&](const Program& source, uint64_t seed) {
      Program program = source.Clone();
      Choices choices(seed);
      testing::Rename(&program, renaming, &choices);
      Diagnostics diags;
      // Reads what it wrote and compares digests.
      const bool is_written =
          WriteProved(program, path, Pt2WriteOptions(), diags).ok();
      std::remove(path.c_str());
      return is_written ? std::string() : diags.ToString();
    });
  }
}

// The same with the mistakes of testing/wrong_joins.h: most programs find them,
// and reducing leaves a few nodes.
TEST(Boundaries, J2TheMistakesAreFound) {
  using Mistake = void (*)(Program*);
  for (const Mistake mistake : {testing::BindByName, testing::PruneOutputs}) {
    const auto broken = [&](const Program& source, uint64_t seed) {
      Program program = source.Clone();
      Choices choices(seed);
      CutNested(&program, &choices);
      testing::ShuffleInputs(&program, &choices);
      testing::Rename(&program, testing::Renaming::kOneName, &choices);
      mistake(&program);
      // Types that don't fit are found by the verifier.
      return !CheckStep("", program, WiringDigest(source)).empty();
    };
    uint64_t num_found = 0;
    size_t fewest_nodes = SIZE_MAX;
    constexpr uint64_t kNumSeeds = 20;
    for (uint64_t seed = 0; seed < kNumSeeds; ++seed) {
      const Program source = RandomProgram(seed);
      if (!broken(source, seed)) continue;
      if (++num_found > 3) continue;
      const Program smallest =
          testing::Reduce(source, [&](const Program& candidate) {
            return WhyRefused(candidate).empty() && broken(candidate, seed);
          });
      EXPECT_TRUE(broken(smallest, seed));
      fewest_nodes =
          std::min(fewest_nodes, smallest.CountNodes(Program::kRoot));
    }
    EXPECT_GT(num_found, kNumSeeds / 2);
    EXPECT_LE(fewest_nodes, 8u);
  }
}

}  // namespace
}  // namespace tenon
