// What a caller can ask of a partition, and the reasons that it gets (P-2,
// P-3).
#include <set>

#include "planning.h"
#include "testing/generator.h"

namespace tenon {
namespace {

// a -> b -> c -> d -> e
const char kChain[] = R"(
graph @main(%x : f32[4]) {
  %a : f32[4] = aten.relu.default(%x)
  %b : f32[4] = aten.add.Tensor(%a, %x)
  %c : f32[4] = aten.neg.default(%b)
  %d : f32[4] = aten.add.Scalar(%c, 1)
  %e : f32[4] = aten.relu.default(%d)
  return (%e)
})";

class Demands : public ::testing::Test {
 protected:
  const Program program_ = ParseText(kChain);
  const PickyBackend all_{"all"};
};

TEST_F(Demands, P3DenyNamesAnOverload) {
  BackendRequest request = Ask(all_);
  request.deny = {"aten.add.Tensor"};
  const PartitionPlan plan = Plan(program_, {request});
  EXPECT_EQ(Regions(program_, plan), "a | c d e");
  EXPECT_EQ(Refusals(program_, plan), "b: user's choice (aten.add.Tensor)\n");
}

TEST_F(Demands, P3DenyNamesAllOverloadsButNoLongerName) {
  BackendRequest request = Ask(all_);
  request.deny = {"aten.add", "aten.ne"};
  EXPECT_EQ(Regions(program_, Plan(program_, {request})), "a | c | e");
}

TEST_F(Demands, P3AllowTakesNothingElse) {
  BackendRequest request = Ask(all_);
  request.allow = {{"aten.relu", "%b"}};
  EXPECT_EQ(Regions(program_, Plan(program_, {request})), "a b | e");
  request.allow.emplace();
  EXPECT_EQ(Regions(program_, Plan(program_, {request})), "");
}

TEST_F(Demands, P3DenyNamesANode) {
  BackendRequest request = Ask(all_);
  request.deny = {"%c"};
  EXPECT_EQ(Regions(program_, Plan(program_, {request})), "a b | d e");
}

TEST_F(Demands, P3ANameThatNoNodeBearsIsAnError) {
  for (const bool is_group : {false, true}) {
    BackendRequest request = Ask(all_);
    if (is_group) {
      request.groups = {{"%a", "%nobody"}};
    } else {
      request.allow = {{"%nobody"}};
    }
    Diagnostics diags;
    EXPECT_FALSE(PlanPartition(program_, {{request}}, diags).ok());
    EXPECT_NE(diags.FirstError().find("'%nobody'"), std::string::npos);
  }
}

TEST_F(Demands, P3ListsAreOneBackendsOwn) {
  const PickyBackend second("second");
  BackendRequest preferred = Ask(all_);
  preferred.deny = {"aten.neg"};
  const PartitionPlan plan = Plan(program_, {preferred, Ask(second)});
  EXPECT_EQ(Regions(program_, plan), "a b | c | d e");
  EXPECT_EQ(plan.regions[1].backend, &second);
  EXPECT_EQ(plan.regions[2].backend, &all_);
  EXPECT_TRUE(plan.refusals.empty());
}

TEST_F(Demands, P3SmallRegionsStay) {
  BackendRequest request = Ask(all_);
  request.deny = {"%b"};
  request.min_region_nodes = 2;
  const PartitionPlan plan = Plan(program_, {request});
  EXPECT_EQ(Regions(program_, plan), "c d e");
  EXPECT_EQ(Refusals(program_, plan),
            "a: region too small (1 node)\n"
            "b: user's choice (aten.add.Tensor)\n");
}

TEST_F(Demands, P3TheRegionsThatGainMostAreKept) {
  BackendRequest request = Ask(all_);
  request.deny = {"%b"};
  request.max_regions = 1;
  const PartitionPlan plan = Plan(program_, {request});
  EXPECT_EQ(Regions(program_, plan), "c d e");
  EXPECT_EQ(Refusals(program_, plan),
            "a: too many regions (1 node)\n"
            "b: user's choice (aten.add.Tensor)\n");
}

TEST_F(Demands, P3AFallenRegionIsTheNextBackends) {
  const PickyBackend second("second");
  BackendRequest preferred = Ask(all_);
  preferred.deny = {"%b"};
  preferred.min_region_nodes = 2;
  const PartitionPlan plan = Plan(program_, {preferred, Ask(second)});
  EXPECT_EQ(Regions(program_, plan), "a b | c d e");
  EXPECT_EQ(plan.regions[0].backend, &second);
}

TEST_F(Demands, P3MustTakeAllReportsEachNode) {
  const PickyBackend picky("picky", AllBut("aten.relu.default"));
  BackendRequest request = Ask(picky);
  request.must_take_all = true;
  Diagnostics diags;
  EXPECT_FALSE(PlanPartition(program_, {{request}}, diags).ok());
  EXPECT_EQ(diags.num_errors(), 2u);
  EXPECT_EQ(diags.all()[0].rule, Rule::kP3);
  EXPECT_NE(diags.FirstError().find("dtype, aten.relu.default"),
            std::string::npos)
      << diags.ToString();
  // What is left for the one that must take all counts, not what others leave.
  request.backend = &all_;
  Diagnostics none;
  EXPECT_TRUE(PlanPartition(program_, {{Ask(picky), request}}, none).ok());
}

TEST_F(Demands, P6CostlyRegionsStay) {
  BackendRequest request = Ask(all_);
  request.deny = {"%b"};
  request.drop_costly = true;
  // 16 B in and out; "a" saves less than its call costs, "c d e" more.
  request.cost = {1000, 1, 400};
  const PartitionPlan plan = Plan(program_, {request});
  EXPECT_EQ(Regions(program_, plan), "c d e");
  EXPECT_EQ(Refusals(program_, plan),
            "a: region too small (1 node, saving 400 ns; call and boundary of "
            "32 B cost 1032 ns)\n"
            "b: user's choice (aten.add.Tensor)\n");
  request.cost.launch_ns = 100;
  EXPECT_EQ(Regions(program_, Plan(program_, {request})), "a | c d e");
  request.cost = {1168, 1, 400};
  EXPECT_EQ(Regions(program_, Plan(program_, {request})), "c d e");
  request.cost = {1169, 1, 400};
  EXPECT_EQ(Regions(program_, Plan(program_, {request})), "");
  request.cost.bandwidth_gb_per_s = 32;
  EXPECT_EQ(Regions(program_, Plan(program_, {request})), "c d e");
}

TEST_F(Demands, P2EveryNodeHasAReasonFromEachBackend) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program program = testing::GenerateProgram(
        {testing::ProgramShape::kRandom, 80, seed, true},
        std::make_shared<Context>());
    PickyBackend some("some", [](std::string_view op) {
      return std::hash<std::string_view>()(op) % 3 != 0;
    });
    some.preserves = false;
    PickyBackend others("others", [](std::string_view op) {
      return std::hash<std::string_view>()(op) % 5 == 0;
    });
    others.scalars = ScalarBoundary::kNone;
    BackendRequest small = Ask(some);
    small.min_region_nodes = 3;
    small.max_regions = 2;
    const PartitionPlan plan = Plan(program, {small, Ask(others)});
    std::set<uint32_t> taken;
    for (const PlannedRegion& region : plan.regions) {
      for (const NodeId n : region.nodes) {
        EXPECT_TRUE(taken.insert(n.index).second) << "a node is taken twice";
      }
    }
    size_t at = 0;
    for (const NodeId n : program.nodes(Program::kRoot)) {
      if (n == program.root().output || taken.contains(n.index)) continue;
      for (const Backend* backend : {&some, &others}) {
        ASSERT_LT(at, plan.refusals.size());
        EXPECT_EQ(plan.refusals[at].node, n);
        EXPECT_EQ(plan.refusals[at].backend, backend);
        ++at;
      }
    }
    EXPECT_EQ(at, plan.refusals.size());
  }
}

TEST(Reasons, P2TheOperatorOfANodeThatIsntOne) {
  const Program program = ParseText(R"(
storage @0 = 8 bytes zeros
parameter "w" : f32[2] = @0
graph @main(%x : f32[2]) {
  %w : f32[2] = get_attr "w"
  %a : f32[2] = aten.add.Tensor(%x, %w)
  return (%a)
})");
  const PickyBackend all("all");
  BackendRequest request = Ask(all);
  request.must_take_all = true;  // of the operators
  const PartitionPlan plan = Plan(program, {request});
  EXPECT_EQ(Regions(program, plan), "a");
  EXPECT_EQ(Refusals(program, plan),
            "w: operator unknown (a reference to state)\n");
}

TEST(Reasons, P2WritesAreAnEffectUnlessAliasingIsPreserved) {
  const Program program = ParseText(R"(
graph @main(%x : f32[2], %y : f32[2]) {
  %a : f32[2] = aten.neg.default(%y)
  %b : f32[2] = aten.add_.Tensor(%a, %x)
  %c : f32[2] = aten.neg.default(%x)
  return (%b, %c)
})");
  PickyBackend backend("all");
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "a b c");
  backend.preserves = false;
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  EXPECT_EQ(Regions(program, plan), "c");
  EXPECT_EQ(Refusals(program, plan),
            "a: effect (shares storage that is written in place)\n"
            "b: effect (shares storage that is written in place)\n");
}

}  // namespace
}  // namespace tenon
