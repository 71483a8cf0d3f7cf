#include "link/outline.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/digest.h"
#include "build.h"
#include "link/join.h"
#include "link/lift.h"

namespace tenon {
namespace {

constexpr GraphId kRoot = Program::kRoot;

NodeId Def(const Build& b, ValueId v) { return b.program.value(v).def; }

TEST(Outline, P4OrdersInputsByDefinitionGraphInputsFirst) {
  Build b;
  const ValueId ids = b.Input(kRoot, "ids"), mask = b.Input(kRoot, "mask");
  const ValueId twice = b.Op(kRoot, "aten.mul.Tensor", {mask, mask}, "m");
  const ValueId sum = b.Op(kRoot, "aten.add.Tensor", {ids, twice}, "o");
  b.Return(kRoot, {sum});
  Diagnostics diags;
  const auto out = OutlineRegions(
      &b.program, kRoot, {{"r", "", {Def(b, sum), Def(b, twice)}}}, diags);
  ASSERT_TRUE(out) << diags.ToString();
  const NodeId call = (*out)[0].call;
  ASSERT_EQ(b.program.args(call).size(), 2u);
  EXPECT_EQ(b.program.args(call)[0].value(), ids);
  EXPECT_EQ(b.program.args(call)[1].value(), mask);
  EXPECT_EQ(b.program.CountNodes(kRoot), 1u);
  EXPECT_EQ(b.program.CountNodes((*out)[0].child), 2u);
}

TEST(Outline, P1RefusesARegionThatIsNotConvex) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const ValueId a = b.Op(kRoot, "aten.neg.default", {x}, "a");
  const ValueId between = b.Op(kRoot, "aten.relu.default", {a}, "b");
  const ValueId c = b.Op(kRoot, "aten.add.Tensor", {between, a}, "c");
  b.Return(kRoot, {c});
  const Digest before = WiringDigest(b.program);
  Diagnostics diags;
  EXPECT_FALSE(OutlineRegions(&b.program, kRoot,
                              {{"r", "", {Def(b, a), Def(b, c)}}}, diags));
  EXPECT_NE(diags.FirstError().find("isn't convex"), std::string::npos);
  EXPECT_EQ(WiringDigest(b.program), before);
  EXPECT_EQ(b.program.CountNodes(kRoot), 3u);
}

TEST(Outline, P1RefusesRegionsThatNeedEachOther) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const ValueId a = b.Op(kRoot, "aten.neg.default", {x}, "a");
  const ValueId c = b.Op(kRoot, "aten.relu.default", {a}, "b");
  const ValueId d = b.Op(kRoot, "aten.neg.default", {x}, "c");
  const ValueId e = b.Op(kRoot, "aten.relu.default", {d}, "d");
  b.Return(kRoot, {c, e});
  Diagnostics diags;
  EXPECT_FALSE(OutlineRegions(
      &b.program, kRoot,
      {{"r", "", {Def(b, a), Def(b, e)}}, {"s", "", {Def(b, c), Def(b, d)}}},
      diags));
}

TEST(Outline, M1AWriteIsNotMovedPastARead) {
  // %r reads %x before add_ writes it; a region of both ends can't hold.
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  const ValueId before = b.Op(kRoot, "aten.neg.default", {x}, "before");
  const ValueId wrote = b.Op(kRoot, "aten.add_.Tensor", {x, x}, "add_");
  const ValueId after = b.Op(kRoot, "aten.neg.default", {x}, "after");
  b.Return(kRoot, {before, after});
  Diagnostics diags;
  EXPECT_FALSE(OutlineRegions(
      &b.program, kRoot, {{"r", "", {Def(b, before), Def(b, after)}}}, diags));
  (void)wrote;
}

// A graph of binary operators over earlier values, some written in place.
void FillRandomly(Build* b, uint32_t num_nodes, std::mt19937* random) {
  std::vector<ValueId> values = {b->Input(kRoot, "x"), b->Input(kRoot, "x")};
  const auto pick = [&] { return values[(*random)() % values.size()]; };
  static constexpr std::string_view kOps[] = {
      "aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
      "aten.add_.Tensor"};
  for (uint32_t i = 0; i < num_nodes; ++i) {
    const std::string_view op = kOps[(*random)() % 16 == 0 ? 3 : i % 3];
    values.push_back(b->Op(kRoot, op, {pick(), pick()}, "same"));
  }
  b->Return(kRoot, {values.back(), pick(), pick()});
}

// P-7: cutting anything anywhere and joining is the identity.
TEST(Outline, P7OutlineThenJoinIsTheIdentity) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Build b;
    FillRandomly(&b, 40, &random);
    const Digest digest = WiringDigest(b.program);
    const auto positions = NodePositions(b.program, kRoot);
    // Ranges of the list are convex; so are they all together.
    std::vector<RegionNodes> regions;
    uint32_t i = 0;
    for (const NodeId n : b.program.nodes(kRoot)) {
      if (n == b.program.root().output) break;
      if (regions.empty() || random() % 4 == 0) {
        regions.push_back({"r" + std::to_string(i++), "", {}});
      }
      regions.back().nodes.push_back(n);
    }
    Diagnostics diags;
    const auto out = OutlineRegions(&b.program, kRoot, regions, diags);
    ASSERT_TRUE(out) << diags.ToString();
    EXPECT_EQ(WiringDigest(b.program), digest);
    ASSERT_TRUE(JoinAll(&b.program, diags)) << diags.ToString();
    EXPECT_EQ(WiringDigest(b.program), digest);
    EXPECT_EQ(b.program.CountNodes(kRoot), 40u);
    RestoreOrder(&b.program, kRoot, positions);
    EXPECT_EQ(NodePositions(b.program, kRoot)[3], positions[3]);
    EXPECT_EQ(WiringDigest(b.program), digest);
  }
}

TEST(Lift, L9LiftUnliftLiftIsTheIdentity) {
  Build b;
  const ValueId x = b.Input(kRoot, "x");
  for (const char* fqn : {"w", "count"}) {
    StateEntry entry;
    entry.fqn = b.context().Intern(fqn);
    entry.kind =
        fqn[0] == 'w' ? StateKind::kParameter : StateKind::kNonPersistentBuffer;
    entry.type = b.type;
    b.program.state.Add(entry);
  }
  // Twice the buffer, then the parameter: references, not inputs (L-2).
  std::vector<ValueId> refs;
  for (const uint32_t state : {1u, 1u, 0u}) {
    const NodeId n = b.program.NewNode(NodeKind::kGetState);
    b.program.mutable_node(n).state = StateId(state);
    refs.push_back(b.program.NewResults(n, 1)[0]);
    b.program.mutable_value(refs.back()).type = b.type;
    b.program.Append(kRoot, n);
  }
  const ValueId a = b.Op(kRoot, "aten.add.Tensor", {x, refs[0]}, "a");
  const ValueId c = b.Op(kRoot, "aten.sub.Tensor", {a, refs[1]}, "c");
  b.Return(kRoot, {b.Op(kRoot, "aten.mul.Tensor", {c, refs[2]}, "d"), refs[2]});
  Diagnostics diags;
  ASSERT_TRUE(Lift(&b.program, diags)) << diags.ToString();
  const Digest lifted = WiringDigest(b.program);
  ASSERT_EQ(b.program.root().inputs.size(), 3u);
  // L-1: parameters, buffers, user inputs.
  EXPECT_EQ(b.program.signature.inputs[0].kind, InputKind::kParameter);
  EXPECT_EQ(b.program.signature.inputs[1].kind, InputKind::kBuffer);
  EXPECT_EQ(b.program.signature.inputs[2].kind, InputKind::kUserInput);
  EXPECT_EQ(b.program.CountNodes(kRoot), 3u);
  Unlift(&b.program);
  EXPECT_EQ(b.program.root().inputs.size(), 1u);
  EXPECT_EQ(b.program.CountNodes(kRoot), 5u);
  ASSERT_TRUE(Lift(&b.program, diags)) << diags.ToString();
  EXPECT_EQ(WiringDigest(b.program), lifted);
}

TEST(Digest, ChangesWithOperandOrderOverloadAndLiteral) {
  const auto digest = [](bool swap, const char* op, int64_t alpha) {
    Build b;
    const ValueId x = b.Input(kRoot, "x"), y = b.Input(kRoot, "y");
    const ValueId r =
        b.Op(kRoot, op, swap ? std::vector{y, x} : std::vector{x, y}, "r");
    const NodeId n = Def(b, r);
    const ArgRange old = b.program.node(n).args;
    const ArgRange args = b.program.NewArgs(3);
    for (uint32_t i = 0; i < 2; ++i) {
      const Arg arg = b.program.arg(old[i]);
      b.program.SetArgLabel(args[i], arg.name, arg.pass);
      b.program.SetValueArg(args[i], n, arg.v.value);
      b.program.SetArg(old[i], Arg::None());
    }
    b.program.SetArg(args[2], Arg::Int(alpha));
    b.program.SetArgLabel(args[2], b.context().Intern("alpha"),
                          PassKind::kKeyword);
    b.program.mutable_node(n).args = args;
    b.Return(kRoot, {r});
    return WiringDigest(b.program);
  };
  const Digest base = digest(false, "aten.add.Tensor", 1);
  EXPECT_EQ(digest(false, "aten.add.Tensor", 1), base);
  EXPECT_FALSE(digest(true, "aten.add.Tensor", 1) == base);
  EXPECT_FALSE(digest(false, "aten.sub.Tensor", 1) == base);
  EXPECT_FALSE(digest(false, "aten.add.Tensor", 2) == base);
}

}  // namespace
}  // namespace tenon
