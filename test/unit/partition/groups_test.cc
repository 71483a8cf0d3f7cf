// What stays together (P-5), what may cross a boundary (D-5), and devices.
#include "planning.h"

namespace tenon {
namespace {

TEST(Groups, P5AnOperatorAndItsResultsAreOneNode) {
  const Program program = ParseText(R"(
graph @main(%x : f32[4]) {
  %v : f32[4], %i : i64[4] = aten.sort.default(%x)
  %a : f32[4] = aten.neg.default(%v)
  %b : i64[4] = aten.neg.default(%i)
  return (%a, %b)
})");
  const PickyBackend all("all");
  EXPECT_EQ(Regions(program, Plan(program, {Ask(all)})), "v a b");
}

// The quantise could be in the first region as well as in the second, where
// its dequantise has to be.
const char kQuantised[] = R"(
graph @main(%x : f32[4], %y : f32[4]) {
  %q : i8[4] = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 0, -128, 127, torch.int8)
  %a : f32[4] = aten.neg.default(%x)
  %u : f32[4] = aten.relu.default(%a)
  %s : f32[] = aten.sum.default(%u)
  %d : f32[4] = quantized_decomposed.dequantize_per_tensor.tensor(%q, %s, 0, -128, 127, torch.int8)
  return (%d, %q)
})";

TEST(Groups, P5AQuantisePairIsInOneRegion) {
  const Program program = ParseText(kQuantised);
  const PickyBackend backend("b", AllBut("aten.relu.default"));
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "q s d | a");
}

TEST(Groups, P5AQuantisePairIsTakenWholeOrNotAtAll) {
  const Program program = ParseText(kQuantised);
  const PickyBackend backend(
      "b", AllBut("quantized_decomposed.dequantize_per_tensor.tensor"));
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  EXPECT_EQ(Regions(program, plan), "a u s");
  EXPECT_EQ(Refusals(program, plan),
            "q: dtype (must stay with %d: "
            "quantized_decomposed.dequantize_per_tensor.tensor)\n"
            "d: dtype (quantized_decomposed.dequantize_per_tensor.tensor)\n");
}

// A quantise that is refused takes only its own dequantises along.
TEST(Groups, P5APairIsOfOneValue) {
  const Program program = ParseText(R"(
graph @main(%x : f32[4]) {
  %q : i8[4] = quantized_decomposed.quantize_per_tensor.default(%x, 0.5, 0, -128, 127, torch.int8)
  %r : i8[4] = quantized_decomposed.quantize_per_tensor.default(%x, 0.25, 0, -128, 127, torch.int8)
  %d : f32[4] = quantized_decomposed.dequantize_per_tensor.default(%r, 0.25, 0, -128, 127, torch.int8)
  return (%q, %d)
})");
  const PickyBackend backend("b");
  BackendRequest request = Ask(backend);
  request.deny = {"%q"};
  EXPECT_EQ(Regions(program, Plan(program, {request})), "r d");
}

//   a -> b -> c      a and c as a group take b along
//   a -> e -> f
const char kDiamond[] = R"(
graph @main(%x : f32[4]) {
  %a : f32[4] = aten.neg.default(%x)
  %b : f32[4] = aten.sin.default(%a)
  %c : f32[4] = aten.cos.default(%b)
  %e : f32[4] = aten.exp.default(%a)
  %f : f32[4] = aten.add.Tensor(%a, %e)
  return (%c, %f)
})";

TEST(Groups, P5AUsersGroupIsInOneRegion) {
  const Program program = ParseText(kDiamond);
  const PickyBackend backend("b", AllBut("aten.exp.default"));
  BackendRequest request = Ask(backend);
  EXPECT_EQ(Regions(program, Plan(program, {request})), "a b c | f");
  // f must come after e, and so now must c; b goes to where it is used.
  request.groups = {{"%c", "%f"}};
  EXPECT_EQ(Regions(program, Plan(program, {request})), "a | b c f");
}

TEST(Groups, P5WhatLiesBetweenIsPartOfTheGroup) {
  const Program program = ParseText(kDiamond);
  const PickyBackend backend("b", AllBut("aten.sin.default"));
  BackendRequest request = Ask(backend);
  request.groups = {{"%a", "%c"}};
  const PartitionPlan plan = Plan(program, {request});
  EXPECT_EQ(Regions(program, plan), "e f");
  EXPECT_EQ(Refusals(program, plan),
            "a: dtype (must stay with %b: aten.sin.default)\n"
            "b: dtype (aten.sin.default)\n"
            "c: dtype (must stay with %b: aten.sin.default)\n");
  // What merely lies between, in vain, isn't part of a group.
  const PickyBackend other("b", AllBut("aten.exp.default"));
  request = Ask(other);
  request.groups = {{"%a", "%f"}, {"%b"}};
  EXPECT_EQ(Regions(program, Plan(program, {request})), "b c");
}

TEST(Groups, P5OverlappingGroupsAreOne) {
  const Program program = ParseText(kDiamond);
  const PickyBackend backend("b", AllBut("aten.exp.default"));
  BackendRequest request = Ask(backend);
  request.groups = {{"%b", "%c"}, {"%f", "%c"}};
  EXPECT_EQ(Regions(program, Plan(program, {request})), "a | b c f");
  request.groups = {{"%b", "%c"}, {"%e", "%c"}};
  const PartitionPlan plan = Plan(program, {request});
  EXPECT_EQ(Regions(program, plan), "a | f");
}

TEST(Groups, P5AGroupThatAPreferredBackendBrokeStays) {
  const Program program = ParseText(kDiamond);
  const PickyBackend first(
      "first", [](std::string_view op) { return op == "aten.cos.default"; });
  const PickyBackend second("second");
  BackendRequest request = Ask(second);
  request.groups = {{"%b", "%c"}};
  const PartitionPlan plan = Plan(program, {Ask(first), request});
  EXPECT_EQ(Regions(program, plan), "a e f | c");
  EXPECT_EQ(Refusals(program, plan),
            "b: dtype (aten.sin.default)\n"
            "b: user's choice (must stay with %c, which a preferred backend "
            "takes)\n");
}

TEST(Placement, P5ConstantsAndViewsGoToWhereTheyAreUsed) {
  const Program program = ParseText(R"(
graph @main(%x : f32[4, 2]) {
  %k : f32[2, 4] = aten.full.default([2, 4], 1.0)
  %a : f32[4, 2] = aten.neg.default(%x)
  %t : f32[2, 4] strides [1, 2] = aten.t.default(%a)
  %u : f32[4, 2] = aten.relu.default(%a)
  %b : f32[2, 2] = aten.mm.default(%t, %u)
  %c : f32[2, 4] = aten.mm.default(%b, %k)
  return (%c)
})");
  const PickyBackend backend("b", AllBut("aten.relu.default"));
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "k t b c | a");
}

// Of two cuts of two regions, the one that sends a sum over the boundary.
TEST(Placement, P6FewerBytesDecideBetweenEqualCuts) {
  const Program program = ParseText(R"(
graph @main(%x : f32[100], %y : f32[100]) {
  %a : f32[] = aten.sum.default(%x)
  %s : f32[] = aten.sum.default(%y)
  %n : f32[100] = aten.neg.default(%y)
  %m : f32[100] = aten.sin.default(%n)
  %u : f32[] = aten.relu.default(%a)
  %b : f32[] = aten.add.Tensor(%u, %s)
  %c : f32[100] = aten.add.Tensor(%m, %b)
  return (%c)
})");
  const PickyBackend backend("b", AllBut("aten.relu.default"));
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "a | s n m b c");
  const Program reduced = ParseText(R"(
graph @main(%x : f32[100], %y : f32[100]) {
  %n : f32[100] = aten.neg.default(%x)
  %a : f32[] = aten.sum.default(%n)
  %s : f32[] = aten.amax.default(%n)
  %u : f32[] = aten.relu.default(%a)
  %b : f32[] = aten.add.Tensor(%u, %s)
  return (%b)
})");
  EXPECT_EQ(Regions(reduced, Plan(reduced, {Ask(backend)})), "n a s | b");
}

// --- D-5 ---

// n and m use the size that the first region computes.
const char kSizes[] = R"(
symbol s0 (positive=True, integer=True) hint 4
graph @main(%x : f32[s0]) {
  %a : f32[s0] = aten.neg.default(%x)
  %n : SymInt(s0) = aten.sym_size.int(%a, 0)
  %b : f32[s0] = aten.full.default([%n], 1.0)
  %u : f32[s0] = aten.relu.default(%b)
  %c : f32[s0] = aten.neg.default(%u)
  %d : f32[s0] = aten.expand.default(%c, [%n])
  return (%d)
})";

TEST(Scalars, D5AScalarCrossesWhereTheBackendTakesIt) {
  const Program program = ParseText(kSizes);
  PickyBackend backend("b", AllBut("aten.relu.default"));
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "a n b | c d");
  backend.scalars = ScalarBoundary::kZeroDimTensor;
  EXPECT_EQ(Regions(program, Plan(program, {Ask(backend)})), "a n b | c d");
}

TEST(Scalars, D5TheCutIsMovedSoThatNoneCrosses) {
  const Program program = ParseText(kSizes);
  PickyBackend backend("b", AllBut("aten.relu.default"));
  backend.scalars = ScalarBoundary::kNone;
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  EXPECT_EQ(Regions(program, plan), "a | c");
  EXPECT_EQ(Refusals(program, plan),
            "n: scalar boundary (exchanges scalars with what isn't taken)\n"
            "b: scalar boundary (exchanges scalars with what isn't taken)\n"
            "u: dtype (aten.relu.default)\n"
            "d: scalar boundary (exchanges scalars with what isn't taken)\n");
  // Where one region can hold all of them, it does.
  PickyBackend all("all");
  all.scalars = ScalarBoundary::kNone;
  EXPECT_EQ(Regions(program, Plan(program, {Ask(all)})), "a n b u c d");
}

TEST(Scalars, D5NoneOfTheProgramsOwn) {
  const Program program = ParseText(R"(
symbol s0 (positive=True, integer=True) hint 4
graph @main(%x : f32[s0], %k : SymInt(s0)) {
  %a : f32[s0] = aten.neg.default(%x)
  %b : f32[s0] = aten.full.default([%k], 1.0)
  %n : SymInt(s0) = aten.sym_size.int(%a, 0)
  return (%b, %n)
})");
  PickyBackend backend("b");
  backend.scalars = ScalarBoundary::kNone;
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  EXPECT_EQ(Regions(program, plan), "a");
  EXPECT_EQ(Refusals(program, plan),
            "b: scalar boundary (the program's scalar input or output)\n"
            "n: scalar boundary (the program's scalar input or output)\n");
}

// A group that falls because of what lies between holds nothing together: p and
// q, which both touch it, can be in one region. That another group stands
// changes nothing.
TEST(Groups, P5AGroupThatFellLeavesNoTrace) {
  const Program program = ParseText(R"(
graph @main(%x : f32[4]) {
  %p : f32[4] = aten.neg.default(%x)
  %a : f32[4] = aten.sin.default(%x)
  %b : f32[4] = aten.exp.default(%a)
  %c : f32[4] = aten.add.Tensor(%b, %p)
  %q : f32[4] = aten.neg.default(%a)
  %e : f32[4] = aten.cos.default(%x)
  %f : f32[4] = aten.cos.default(%e)
  return (%c, %q, %f)
})");
  const PickyBackend backend("b", AllBut("aten.exp.default"));
  BackendRequest request = Ask(backend);
  request.groups = {{"%a", "%c"}};
  EXPECT_EQ(Regions(program, Plan(program, {request})), "p q e f");
  request.groups = {{"%a", "%c"}, {"%e", "%f"}};
  EXPECT_EQ(Regions(program, Plan(program, {request})), "p q e f");
}

// The reason that is told is the blocker's own.
TEST(Groups, P5TheBlockersReasonIsTold) {
  const Program program = ParseText(kDiamond);
  const PickyBackend backend("b", AllBut("aten.cos.default"));
  BackendRequest request = Ask(backend);
  request.deny = {"aten.neg.default"};
  request.groups = {{"%b", "%c"}};
  const PartitionPlan plan = Plan(program, {request});
  EXPECT_EQ(Refusals(program, plan),
            "a: user's choice (aten.neg.default)\n"
            "b: dtype (must stay with %c: aten.cos.default)\n"
            "c: dtype (aten.cos.default)\n");
}

// D-7: a region's own program that takes a number is none for a backend that
// takes no numbers.
TEST(Scalars, D5ARegionWithNumbersIsTakenWholeByWhoExchangesThem) {
  const Program numbers = ParseText(R"(symbol s0 (integer=True)
range s0 in [2, 9]
graph @main(%x : f32[s0], %k : SymInt(s0)) {
  %a : f32[s0] = aten.add.Tensor(%x, %k)
  return (%a)
})");
  const Program tensors = ParseText(kDiamond);
  PickyBackend backend("b");
  for (const ScalarBoundary scalars :
       {ScalarBoundary::kScalar, ScalarBoundary::kZeroDimTensor,
        ScalarBoundary::kNone}) {
    backend.scalars = scalars;
    EXPECT_TRUE(TakesWhole(tensors, Ask(backend)));
    EXPECT_EQ(TakesWhole(numbers, Ask(backend)),
              scalars != ScalarBoundary::kNone);
  }
}

// --- devices ---

// Of the node alone, whatever comes behind it.
TEST(Devices, K712TheNodesOwnAreNamed) {
  const Program program = ParseText(R"(
graph @main(%x : f32[4], %y : f32[4] device cuda:0, %z : f32[4] device xpu:0) {
  %a : f32[4] = aten.add.Tensor(%x, %y)
  %b : f32[4] device xpu:0 = aten.neg.default(%z)
  return (%a, %b)
})");
  const PickyBackend backend("b");
  EXPECT_EQ(Refusals(program, Plan(program, {Ask(backend)})),
            "a: layout (devices cpu and cuda:0)\n");
}

// K7-12: host work isn't pulled into the GPU's region.
const char kTwoDevices[] = R"(
storage @0 = 16 bytes zeros
parameter "w" : i32[4] = @0
graph @main(%x : f32[4] device cuda:0, %w : i32[4] = parameter "w") {
  %m : f32[4] device cuda:0 = aten.mul.Scalar(%x, 2)
  %c : i32[4] = aten._to_copy.default(%m, dtype=torch.int32, device=device("cpu"))
  %h : i32[4] = aten.add.Tensor(%c, %w)
  %k : i32[8] = aten.cat.default([%h, %c])
  %g : f32[4] device cuda:0 = aten.add.Scalar(%x, 1)
  return (%k, %g)
})";

TEST(Devices, K712RegionsDontMixDevices) {
  const Program program = ParseText(kTwoDevices);
  const PickyBackend backend("b");
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  EXPECT_EQ(Regions(program, plan), "m g | h k");
  EXPECT_EQ(Refusals(program, plan), "c: layout (devices cuda:0 and cpu)\n");
}

TEST(Devices, K712AGroupOnTwoDevicesStays) {
  const Program program = ParseText(kTwoDevices);
  const PickyBackend backend("b");
  BackendRequest request = Ask(backend);
  request.groups = {{"%k", "%g"}};
  const PartitionPlan plan = Plan(program, {request});
  EXPECT_EQ(Regions(program, plan), "m | h");
  EXPECT_EQ(Refusals(program, plan),
            "c: layout (devices cuda:0 and cpu)\n"
            "k: layout (must stay with %g, which is on another device)\n"
            "g: layout (must stay with %g, which is on another device)\n");
}

// K8-11: two devices of one kind are two devices.
TEST(Devices, K811IndicesAreKeptApart) {
  const Program program = ParseText(R"(
graph @main(%x : f32[4] device cuda:0) {
  %a : f32[4] device cuda:0 = aten.neg.default(%x)
  %c : f32[4] device cuda:1 = aten._to_copy.default(%a, device=device("cuda", 1))
  %y : f32[4] device cuda:1 = aten.neg.default(%c)
  %b : f32[4] device cuda:0 = aten.abs.default(%a)
  return (%y, %b)
})");
  const PickyBackend backend("b");
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  EXPECT_EQ(Regions(program, plan), "a b | y");
  EXPECT_EQ(Refusals(program, plan), "c: layout (devices cuda:0 and cuda:1)\n");
}

TEST(Devices, K712NestedGraphsCount) {
  const Program program = ParseText(R"(
graph @main(%p : bool[], %x : f32[4]) {
  %a : f32[4] = aten.neg.default(%x)
  %b : f32[4] = higher_order.cond(%p, @true, @false, [%a])
  return (%b)
}
graph @true(%x : f32[4]) {
  %g : f32[4] device cuda:0 = aten._to_copy.default(%x, device=device("cuda", 0))
  %h : f32[4] = aten._to_copy.default(%g, device=device("cpu"))
  return (%h)
}
graph @false(%x : f32[4]) {
  %n : f32[4] = aten.neg.default(%x)
  return (%n)
})");
  const PickyBackend backend("b");
  const PartitionPlan plan = Plan(program, {Ask(backend)});
  EXPECT_EQ(Regions(program, plan), "a");
  EXPECT_EQ(Refusals(program, plan), "b: layout (devices several)\n");
}

}  // namespace
}  // namespace tenon
