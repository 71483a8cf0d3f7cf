// The number of regions (P-6), what outlining and joining make of them (P-4,
// P-7), and how the time grows (P-8).
#include <array>
#include <ctime>
#include <random>

#include "analysis/digest.h"
#include "link/join.h"
#include "link/outline.h"
#include "planning.h"
#include "testing/generator.h"

namespace tenon {
namespace {

Program Generate(testing::ProgramShape shape, size_t num_nodes, uint64_t seed) {
  return testing::GenerateProgram({shape, num_nodes, seed, false},
                                  std::make_shared<Context>());
}

// Nodes of additions over earlier values, wanted or not by the seed.
struct Dag {
  explicit Dag(uint32_t num_nodes, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string text = "graph @main(%v0 : f32[4]) {\n";
    for (uint32_t i = 1; i <= num_nodes; ++i) {
      const uint32_t a = static_cast<uint32_t>(random() % i);
      const uint32_t b = static_cast<uint32_t>(random() % i);
      wanted.push_back(random() % 2 == 0);
      const std::string op =
          wanted.back() ? "aten.add.Tensor" : "aten.mul.Tensor";
      text += "%v" + std::to_string(i) + " : f32[4] = " + op + "(%v" +
              std::to_string(a) + ", %v" + std::to_string(b) + ")\n";
      operands.push_back({a, b});
    }
    program =
        ParseText(text + "return (%v" + std::to_string(num_nodes) + ")\n}");
  }

  // Whether contracting the sets leaves no cycle; set_of[i] < 0 = none.
  bool IsAcyclic(const std::vector<int>& set_of) const {
    const int n = static_cast<int>(operands.size());
    std::vector<int> unit(set_of.size());
    for (int i = 0; i < n; ++i) {
      const size_t at = static_cast<size_t>(i);
      unit[at] = set_of[at] < 0 ? n + i : set_of[at];
    }
    std::vector<std::vector<bool>> reach(
        static_cast<size_t>(2 * n),
        std::vector<bool>(static_cast<size_t>(2 * n), false));
    for (size_t i = 0; i < operands.size(); ++i) {
      for (const uint32_t o : operands[i]) {
        if (o == 0) continue;
        const auto from = static_cast<size_t>(unit[o - 1]);
        const auto to = static_cast<size_t>(unit[i]);
        if (from != to) reach[from][to] = true;
      }
    }
    for (size_t k = 0; k < reach.size(); ++k) {
      for (size_t i = 0; i < reach.size(); ++i) {
        if (!reach[i][k]) continue;
        for (size_t j = 0; j < reach.size(); ++j) {
          if (reach[k][j]) reach[i][j] = true;
        }
      }
    }
    for (size_t i = 0; i < reach.size(); ++i) {
      if (reach[i][i]) return false;
    }
    return true;
  }

  // The fewest sets of wanted nodes, by trying all partitions of them.
  int Fewest() const {
    std::vector<int> set_of(operands.size(), -1);
    int best = static_cast<int>(operands.size());
    Try(0, 0, &set_of, &best);
    return best;
  }
  void Try(size_t at, int num_sets, std::vector<int>* set_of, int* best) const {
    if (num_sets >= *best) return;
    if (at == operands.size()) {
      if (IsAcyclic(*set_of)) *best = num_sets;
      return;
    }
    if (!wanted[at]) {
      (*set_of)[at] = -1;
      return Try(at + 1, num_sets, set_of, best);
    }
    for (int s = 0; s <= num_sets; ++s) {
      (*set_of)[at] = s;
      Try(at + 1, std::max(num_sets, s + 1), set_of, best);
    }
  }

  std::vector<bool> wanted;
  std::vector<std::array<uint32_t, 2>> operands;
  Program program{std::make_shared<Context>()};
};

TEST(Smallest, P6NoConvexCutHasFewerRegions) {
  const PickyBackend adds("adds", AllBut("aten.mul.Tensor"));
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Dag dag(11, seed);
    const PartitionPlan plan = Plan(dag.program, {Ask(adds)});
    std::vector<int> set_of(dag.operands.size(), -1);
    for (size_t r = 0; r < plan.regions.size(); ++r) {
      for (const NodeId n : plan.regions[r].nodes) {
        const std::string name = NameOf(dag.program, n);  // "v1" and so on
        set_of[std::stoul(name.substr(1)) - 1] = static_cast<int>(r);
      }
    }
    EXPECT_TRUE(dag.IsAcyclic(set_of));
    EXPECT_EQ(plan.regions.size(), static_cast<size_t>(dag.Fewest()));
  }
}

// K7-01: two pairs of independent nodes that can't both be merged.
TEST(Smallest, P1MergesDontCloseALoopTogether) {
  const Program program = ParseText(R"(
graph @main(%x : f32[4], %y : f32[4]) {
  %a : f32[4] = aten.add.Scalar(%x, 1)
  %u1 : f32[4] = aten.neg.default(%a)
  %b : f32[4] = aten.add.Scalar(%y, 1)
  %u2 : f32[4] = aten.neg.default(%b)
  %c : f32[4] = aten.mul.Scalar(%u1, 10)
  %d : f32[4] = aten.mul.Scalar(%u2, 10)
  return (%c, %d)
})");
  const PickyBackend backend("b", AllBut("aten.neg.default"));
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "a b | c d");
}

std::vector<RegionNodes> ToRegions(const PartitionPlan& plan) {
  std::vector<RegionNodes> regions;
  for (const PlannedRegion& region : plan.regions) {
    regions.push_back({"region_" + std::to_string(regions.size()),
                       std::string(region.backend->name()), region.nodes});
  }
  return regions;
}

TEST(Outlined, P7OutlineThenJoinIsTheIdentity) {
  const PickyBackend a("a", [](std::string_view op) {
    return std::hash<std::string_view>()(op) % 2 == 0;
  });
  const PickyBackend b("b", [](std::string_view op) {
    return std::hash<std::string_view>()(op) % 3 != 0;
  });
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program = Generate(testing::ProgramShape::kRandom, 100, seed);
    const std::string text = PrintProgram(program, {});
    const auto digest = WiringDigest(program);
    const auto positions = NodePositions(program, Program::kRoot);
    const PartitionPlan plan = Plan(program, {Ask(a), Ask(b)});
    Diagnostics diags;
    ASSERT_TRUE(
        OutlineRegions(&program, Program::kRoot, ToRegions(plan), diags).ok())
        << diags.ToString();
    ASSERT_TRUE(JoinAll(&program, diags).ok()) << diags.ToString();
    EXPECT_TRUE(WiringDigest(program) == digest);
    RestoreOrder(&program, Program::kRoot, positions);
    // Which region a node came from is all that is new.
    program.regions.clear();
    for (uint32_t n = 0; n < program.num_nodes(); ++n) {
      program.mutable_node(NodeId(n)).region = RegionId();
    }
    EXPECT_EQ(PrintProgram(program, {}), text);
  }
}

TEST(Outlined, P4BoundariesAreOrderedByDefinition) {
  Program program = ParseText(R"(
graph @main(%x : f32[4], %y : f32[4]) {
  %p : f32[4] = aten.relu.default(%x)
  %q : f32[4] = aten.relu.default(%y)
  %a : f32[4] = aten.add.Tensor(%q, %p)
  %b : f32[4] = aten.add.Tensor(%q, %y)
  %c : f32[4] = aten.add.Tensor(%b, %x)
  return (%c, %b, %c, %a)
})");
  const PickyBackend backend("b", AllBut("aten.relu.default"));
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  ASSERT_EQ(Regions(program, plan), "a b c");
  Diagnostics diags;
  const auto outlined =
      OutlineRegions(&program, Program::kRoot, ToRegions(plan), diags);
  ASSERT_TRUE(outlined.ok()) << diags.ToString();
  const auto names = [&](const auto& values) {
    std::string text;
    for (const ValueId v : values) {
      text += std::string(program.view(program.value(v).name)) + " ";
    }
    return text;
  };
  const Outlined& region = (*outlined)[0];
  EXPECT_EQ(names(program.graph(region.child).inputs), "x y p q ");
  std::vector<ValueId> arguments, outputs;
  program.ForEachOperand(region.call,
                         [&](ValueId v) { arguments.push_back(v); });
  for (const Arg& a : program.outputs(region.child)) {
    outputs.push_back(a.value());
  }
  EXPECT_EQ(names(arguments), "x y p q ");
  EXPECT_EQ(names(outputs), "a b c ");
}

// --- size ---

// Unary nodes in chains of one length; each `period`-th is a neg.
Program Chains(uint32_t num_chains, uint32_t length, uint32_t period) {
  auto context = std::make_shared<Context>();
  Program program(context);
  program.AddGraph("main");
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = DType::kFloat32;
  type.device.type = context->Intern("cpu");
  type.sizes = {SymInt::Literal(4)};
  type.strides = {SymInt::Literal(1)};
  const TypeId id = context->types.Intern(type);
  const OpId tanh = context->InternOp("aten.tanh.default");
  const OpId neg = context->InternOp("aten.neg.default");
  const OpId add = context->InternOp("aten.add.Tensor");
  const ValueId x = program.AddInput(Program::kRoot, id, context->Intern("x"));
  program.signature.inputs.emplace_back();
  const auto emit = [&](OpId op, std::vector<ValueId> operands) {
    const NodeId n = program.NewOp(op, StringId());
    const ArgRange args =
        program.NewArgs(static_cast<uint32_t>(operands.size()));
    program.SetArgRange(n, args);
    for (size_t i = 0; i < operands.size(); ++i) {
      program.SetValueArg(args[i], n, operands[i]);
    }
    const ValueId result = program.NewResults(n, 1)[0];
    program.mutable_value(result).type = id;
    program.Append(Program::kRoot, n);
    return result;
  };
  ValueId joined;
  for (uint32_t c = 0; c < num_chains; ++c) {
    ValueId v = x;
    for (uint32_t i = 1; i <= length; ++i) {
      v = emit(period > 0 && i % period == 0 ? neg : tanh, {v});
    }
    joined = joined.valid() ? emit(add, {joined, v}) : v;
  }
  const ArgRange returned = program.NewArgs(1);
  program.SetValueArg(returned[0], program.root().output, joined);
  program.SetOutputs(Program::kRoot, returned);
  return program;
}

// Of this process alone: the machine may be busy.
double SecondsToPlan(const Program& program, const Backend& backend,
                     size_t num_regions) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    const PartitionPlan plan = Plan(program, {Ask(backend)});
    const std::clock_t time = std::clock() - start;
    EXPECT_EQ(plan.regions.size(), num_regions);
    best = std::min(best, static_cast<double>(time) / CLOCKS_PER_SEC);
  }
  return best;
}

TEST(Size, K717AChainHasOneRegionForEachRun) {
  const PickyBackend backend("b", AllBut("aten.neg.default"));
  EXPECT_LT(SecondsToPlan(Chains(1, 40'000, 100), backend, 400), 2.0);
}

TEST(Size, K717ParallelChains) {
  const PickyBackend backend("b", AllBut("aten.neg.default"));
  // 100 nodes each; joined by additions, which go with the last runs.
  EXPECT_LT(SecondsToPlan(Chains(200, 100, 0), backend, 1), 2.0);
  EXPECT_LT(SecondsToPlan(Chains(200, 99, 10), backend, 10), 2.0);
}

TEST(Size, P8TimeGrowsWithNodes) {
  const PickyBackend backend("b", AllBut("aten.neg.default"));
  for (const uint32_t num_chains : {1u, 100u}) {
    const uint32_t length = 40'000 / num_chains;
    const size_t regions = length / 10;
    const double once = SecondsToPlan(Chains(num_chains, length, 10), backend,
                                      regions + (num_chains > 1));
    const double eightfold =
        SecondsToPlan(Chains(num_chains, 8 * length, 10), backend,
                      8 * regions + (num_chains > 1));
    // Linear is 8, quadratic 64; the rest is for a busy machine.
    EXPECT_LT(eightfold, 32 * once);
  }
}

}  // namespace
}  // namespace tenon
