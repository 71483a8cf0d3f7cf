// What is weighed when cuts are chosen, at its edges (P-3, P-6).
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "analysis/dependencies.h"
#include "partition/boundary_bytes.h"
#include "partition/cost.h"
#include "partition/cut.h"
#include "partition/groups.h"
#include "partition/node_list.h"
#include "planning.h"

namespace tenon {
namespace {

// --- bytes ---

int64_t BytesOf(const std::string& type, const std::string& head = "") {
  const Program program =
      ParseText(head + "graph @main(%x : " + type + ") {\n  return ()\n}\n");
  BoundaryBytes bytes(program);
  // Asked twice: the answer is kept.
  EXPECT_EQ(bytes.Of(program.root().inputs[0]),
            bytes.Of(program.root().inputs[0]));
  return bytes.Of(program.root().inputs[0]);
}

TEST(Bytes, P6OfTypes) {
  EXPECT_EQ(BytesOf("f32[2, 3]"), 24);
  EXPECT_EQ(BytesOf("f64[]"), 8);
  EXPECT_EQ(BytesOf("f32[0, 7]"), 0);
  EXPECT_EQ(BytesOf("int 3"), 8);
  const int64_t most = int64_t{1} << 40;
  EXPECT_EQ(BytesOf("u8[1099511627776]"), most);
  EXPECT_EQ(BytesOf("u8[1099511627777]"), most);
  EXPECT_EQ(BytesOf("f32[4611686018427387904, 4611686018427387904]"), most);
}

// As in the example run; else the upper bound, as far as it is one.
TEST(Bytes, P6OfSymbolicSizes) {
  const auto of = [](const std::string& size, const std::string& range) {
    return BytesOf("u8[" + size + "]",
                   "symbol s0 (integer=True)\nrange s0 in " + range + "\n");
  };
  const int64_t unknown = BoundaryBytes::kUnknownSize;
  EXPECT_EQ(of("s0 hint 5", "[2, 9]"), 5);
  EXPECT_EQ(of("s0", "[2, 9]"), 9);
  EXPECT_EQ(of("2*s0", "[2, 9]"), 18);
  EXPECT_EQ(of("s0", "[0, 0]"), 0);
  EXPECT_EQ(of("s0", "[2, oo]"), unknown);
  EXPECT_EQ(of("s0", "[2, 16777216]"), 16777216);
  EXPECT_EQ(of("s0", "[2, 16777217]"), unknown);
  EXPECT_EQ(of("s0 - 5", "[2, 4]"), unknown);
  EXPECT_EQ(of("s0 - 5", "[2, 5]"), 0);
}

// A backend gets state once, not at every call.
TEST(Bytes, P6StateIsNothing) {
  const Program program =
      ParseText(R"(storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 8 bytes hex"0000000000000000"
buffer "b" : f32[2] = @0
buffer "c" : f32[2] = @1
graph @main(%b : f32[2] = buffer "b", %x : f32[2]) {
  %c : f32[2] = get_attr "c"
  %y : f32[2] = aten.add.Tensor(%c, %x)
  return (%y)
}
)");
  BoundaryBytes bytes(program);
  EXPECT_EQ(bytes.Of(program.root().inputs[0]), 0);
  EXPECT_EQ(bytes.Of(program.root().inputs[1]), 8);
  const NodeId c = program.root().first;
  EXPECT_EQ(bytes.Of(program.node(c).results[0]), 0);
  EXPECT_EQ(bytes.Of(program.node(program.node(c).next).results[0]), 8);
}

// --- cost ---

TEST(Cost, P6EachValueCrossesOnce) {
  const Program program = ParseText(R"(
graph @main(%x : u8[100], %y : u8[10]) {
  %a : u8[100] = aten.add.Tensor(%x, %y)
  %b : u8[100] = aten.mul.Tensor(%a, %x)
  %c : u8[100] = aten.mul.Tensor(%a, %b)
  %d : u8[100] = aten.mul.Tensor(%b, %c)
  return (%d, %a)
}
)");
  const Dependencies dependencies(program, Program::kRoot);
  BoundaryBytes bytes(program);
  CostModel model;
  model.launch_ns = 1000;
  model.bandwidth_gb_per_s = 10;
  model.node_saving_ns = 7;
  const auto costs =
      CostOfRegions(program, dependencies, {{0, 1}, {2}}, model, &bytes);
  ASSERT_EQ(costs.size(), 2u);
  // %x, %y in; %a, %b out.
  EXPECT_EQ(costs[0].boundary_bytes, 310);
  EXPECT_EQ(costs[0].cost_ns, 1031);
  EXPECT_EQ(costs[0].saving_ns, 14);
  // %a, %b in, %c out.
  EXPECT_EQ(costs[1].boundary_bytes, 300);
  model.bandwidth_gb_per_s = 0;
  EXPECT_EQ(
      CostOfRegions(program, dependencies, {{2}}, model, &bytes)[0].cost_ns,
      1300);
}

// --- placement ---

// A graph of sums whose sizes have nothing to do with each other.
Program RandomSums(uint32_t num_nodes, std::mt19937* random) {
  static constexpr const char* kSizes[] = {"u8[1]", "u8[10]", "u8[100]"};
  std::string text = "graph @main(%v0 : u8[10], %v1 : u8[100]) {\n";
  const auto pick = [&](uint32_t below) {
    return "%v" + std::to_string((*random)() % below);
  };
  for (uint32_t i = 2; i < num_nodes + 2; ++i) {
    text += "  %v" + std::to_string(i) + " : " + kSizes[(*random)() % 3] +
            " = aten.add.Tensor(" + pick(i) + ", " + pick(i) + ")\n";
  }
  return ParseText(text + "  return (" + pick(num_nodes + 2) + ", %v" +
                   std::to_string(num_nodes + 1) + ")\n}\n");
}

int64_t BoundaryOf(const Program& program, const Dependencies& dependencies,
                   const std::vector<NodeSet>& regions) {
  BoundaryBytes bytes(program);
  int64_t sum = 0;
  for (const RegionCost& cost :
       CostOfRegions(program, dependencies, regions, CostModel(), &bytes)) {
    sum += cost.boundary_bytes;
  }
  return sum;
}

// Moving nodes to their users' regions makes no more regions, and never more
// bytes over all boundaries.
TEST(Placement, P6MovingNodesNeverAddsBytes) {
  int64_t saved = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const Program program = RandomSums(14, &random);
    const Dependencies dependencies(program, Program::kRoot);
    const Units units(dependencies);
    std::vector<bool> wanted(dependencies.size());
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = random() % 3 > 0;
    BoundaryBytes bytes(program);
    const auto low = CutIntoRegions(program, units, wanted, nullptr);
    const auto moved = CutIntoRegions(program, units, wanted, &bytes);
    EXPECT_EQ(moved.size(), low.size()) << seed;
    const int64_t before = BoundaryOf(program, dependencies, low);
    const int64_t after = BoundaryOf(program, dependencies, moved);
    EXPECT_LE(after, before) << seed;
    saved += before - after;
  }
  EXPECT_GT(saved, 0);
}

// --- selection ---

constexpr char kChain[] = R"(
graph @main(%x : f32[2]) {
  %a : f32[2] = aten.relu.default(%x)
  %b : f32[2] = aten.neg.default(%a)
  %c : f32[2] = aten.relu.default(%b)
  %d : f32[2] = aten.relu.default(%c)
  %e : f32[2] = aten.neg.default(%d)
  %f : f32[2] = aten.relu.default(%e)
  return (%f)
}
)";

std::string Kept(const std::function<void(BackendRequest*)>& ask,
                 std::string* refusals = nullptr) {
  const Program program = ParseText(kChain);
  const PickyBackend backend("picky", AllBut("aten.neg.default"));
  BackendRequest request = Ask(backend);
  ask(&request);
  const PartitionPlan plan = Plan(program, {request});
  if (refusals != nullptr) *refusals = Refusals(program, plan);
  return Regions(program, plan);
}

TEST(Selected, P3NumbersAndSizesAtTheirEdges) {
  EXPECT_EQ(Kept([](BackendRequest*) {}), "a | c d | f");
  for (uint32_t most = 0; most <= 4; ++most) {
    const char* expected[] = {"a | c d | f", "c d", "a | c d", "a | c d | f",
                              "a | c d | f"};
    EXPECT_EQ(Kept([&](BackendRequest* r) { r->max_regions = most; }),
              expected[most])
        << most;
  }
  for (uint32_t least = 0; least <= 3; ++least) {
    const char* expected[] = {"a | c d | f", "a | c d | f", "c d", ""};
    EXPECT_EQ(Kept([&](BackendRequest* r) { r->min_region_nodes = least; }),
              expected[least])
        << least;
  }
}

// A region that costs just what it saves is kept.
TEST(Selected, P6ARegionThatBreaksEvenIsKept) {
  for (const int64_t launch : {99, 100, 101}) {
    const std::string kept = Kept([&](BackendRequest* r) {
      r->drop_costly = true;
      r->cost.launch_ns = launch;
      r->cost.bandwidth_gb_per_s = 1000;
      r->cost.node_saving_ns = 100;
    });
    EXPECT_EQ(kept, launch <= 100 ? "a | c d | f" : "c d") << launch;
  }
}

// --- lists ---

TEST(Lists, P3ANodeHasItsOwnNameAndThoseOfItsResults) {
  const Program program = ParseText(R"(
graph @main(%x : f32[2]) {
  %v : f32[2], %i : i64[2] = aten.sort.default(%x) name "sorted"
  %y : f32[2] = aten.relu.default(%v)
  return (%y, %i)
}
)");
  const Dependencies dependencies(program, Program::kRoot);
  const auto has = [&](const std::vector<std::string>& items) {
    NodeList list(program, dependencies, items);
    return std::to_string(list.Contains(0)) + std::to_string(list.Contains(1)) +
           (list.unmatched().empty() ? "" : "?");
  };
  EXPECT_EQ(has({}), "00");
  EXPECT_EQ(has({"%sorted"}), "10");
  EXPECT_EQ(has({"%i"}), "10");
  EXPECT_EQ(has({"%y"}), "01");
  EXPECT_EQ(has({"%x"}), "00?");
  EXPECT_EQ(has({"%y", "aten.sort"}), "11");
  EXPECT_EQ(has({"aten.sort.default"}), "10");
  EXPECT_EQ(has({"aten.sor"}), "00");
  EXPECT_EQ(has({"aten"}), "11");
  EXPECT_EQ(FirstNameOf(program, dependencies.nodes()[0]), "sorted");
  EXPECT_EQ(FirstNameOf(program, dependencies.nodes()[1]), "y");
}

// --- scalars ---

TEST(Scalars, D5WhoExchangesThem) {
  const Program program = ParseText(R"(symbol s0 (integer=True)
range s0 in [2, 9]
graph @main(%x : f32[s0], %n : SymInt(s0), %k : int 3) {
  %a : f32[s0] = aten.add.Tensor(%x, %n)
  %m : SymInt(s0) = aten.sym_size.int(%a, 0)
  %b : f32[s0] = aten.add.Tensor(%a, %m)
  %unused : SymInt(s0) = aten.sym_size.int(%b, 0)
  %r : SymInt(s0) = aten.sym_size.int(%b, 0)
  %c : f32[s0] = aten.add.Tensor(%b, %k)
  return (%c, %r)
}
)");
  const Dependencies dependencies(program, Program::kRoot);
  const ScalarGroups found = FindScalarGroups(program, dependencies);
  // The users of %n and %k, and who computes %r.
  EXPECT_EQ(found.at_the_edge, (NodeSet{0, 5, 4}));
  ASSERT_EQ(found.groups.size(), 1u);
  EXPECT_EQ(found.groups[0], (NodeSet{2, 1}));
}

// --- devices ---

// What computes sizes goes with its operands, else with its users; without
// either with the first device.
TEST(Devices, K712SizesGoWithTheirNeighbours) {
  const Program program = ParseText(R"(symbol s0 (integer=True)
range s0 in [2, 9]
graph @main(%x : f32[s0], %y : f32[s0] device cuda:0, %n : SymInt(s0)) {
  %a : SymInt(s0) = aten.sym_size.int(%y, 0)
  %b : SymInt(2*s0) = _operator.mul(%a, 2)
  %c : SymInt(3*s0) = _operator.mul(%n, 3)
  %d : f32[s0] device cuda:0 = aten.add.Tensor(%y, %c)
  %e : SymInt(4*s0) = _operator.mul(%n, 4)
  %f : f32[s0] = aten.relu.default(%x)
  return (%b, %d, %e, %f)
}
)");
  const PickyBackend backend("picky");
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  EXPECT_EQ(Regions(program, plan), "a b c d | e f");
}

TEST(Devices, K712EachOfThreeHasItsRegion) {
  const Program program = ParseText(R"(
graph @main(%x : f32[2], %y : f32[2] device cuda:0,
            %z : f32[2] device cuda:1) {
  %a : f32[2] = aten.relu.default(%x)
  %b : f32[2] device cuda:0 = aten.relu.default(%y)
  %c : f32[2] device cuda:1 = aten.relu.default(%z)
  %d : f32[2] device cuda:0 = aten.relu.default(%b)
  return (%a, %c, %d)
}
)");
  const PickyBackend backend("picky");
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "a | b d | c");
}

// An operator lies where its graphs do, as long as that is one place.
TEST(Devices, K712GraphsOnOneDeviceAreTaken) {
  const Program program = ParseText(R"(
graph @main(%x : f32[2], %y : f32[2] device cuda:0,
            %p : bool[] device cuda:0) {
  %a : f32[2] = aten.relu.default(%x)
  %b : f32[2] device cuda:0 = higher_order.cond(%p, @yes, @no, [%y]) single_return False
  %c : f32[2] device cuda:0 = higher_order.cond(%p, @no, @yes, [%b]) single_return False
  return (%a, %c)
}
graph @yes(%t : f32[2] device cuda:0) {
  %s : f32[2] device cuda:0 = aten.sin.default(%t)
  return (%s)
}
graph @no(%t : f32[2] device cuda:0) {
  %s : f32[2] device cuda:0 = aten.cos.default(%t)
  return (%s)
}
)");
  const PickyBackend backend("picky");
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "a | b c");
}

}  // namespace
}  // namespace tenon
