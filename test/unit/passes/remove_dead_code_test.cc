// What goes, and what stays for what it does.
#include "passes/remove_dead_code.h"

#include "analysis/digest.h"
#include "programs.h"

namespace tenon {
namespace {

RemoveDeadCodeReport Clean(Program* program) {
  const Digest before = WiringDigest(*program);
  const RemoveDeadCodeReport report = RemoveDeadCode(program);
  ExpectValid(*program);
  EXPECT_EQ(WiringDigest(*program), before);
  return report;
}

void ExpectUnchanged(std::string_view text) {
  Program program = Parse(text);
  const std::string before = Print(program);
  EXPECT_EQ(Clean(&program).num_nodes, 0u);
  EXPECT_EQ(Print(program), before);
}

TEST(RemoveDeadCode, AChainGoesAsAWhole) {
  Program program = Parse(R"(
graph @main(%x : f32[2], %unused : f32[2]) {
  %a : f32[2] = aten.relu.default(%x)
  %b : f32[2] = aten.mul.Tensor(%a, %a)
  %y : f32[2] = aten.neg.default(%x)
  return (%y)
}
)");
  EXPECT_EQ(Clean(&program).num_nodes, 2u);
  ExpectHas(program,
            "(%x : f32[2], %unused : f32[2]) {\n"
            "  %y : f32[2] = aten.neg.default(%x)\n");
}

// J-5: results are known by their positions.
TEST(RemoveDeadCode, J5OneUsedResultKeepsAll) {
  ExpectUnchanged(R"(
graph @main(%x : f32[2]) {
  %a : f32[], %b : i64[] = aten.max.dim(%x, 0)
  return (%b)
}
)");
}

TEST(RemoveDeadCode, J5EffectsStay) {
  ExpectUnchanged(R"(
storage @0 = 8 bytes zeros
buffer "n" : f32[2] = @0
graph @main(%n : f32[2] = buffer "n", %x : f32[2]) {
  %v : f32[] = aten.select.int(%n, 0, 0)
  %w : f32[] = aten.fill_.Scalar(%v, 1)
  %r : f32[2] = aten.rand.default([2])
  %u : f32[2] = aten.add_.Tensor(%x, 1)
  aten._assert_tensor_metadata.default(%x, dtype=torch.float32)
  %o : f32[2] = lib.unknown.default(%x)
  %y : f32[2] = aten.rand_like.default(%x)
  return (%y)
}
)");
}

TEST(RemoveDeadCode, NestedGraphsAreCleanedInside) {
  Program program = Parse(R"(
graph @main(%p : bool[], %x : f32[]) {
  %y : f32[] = higher_order.cond(%p, @then, @else, [%x]) single_return False
  return (%y)
}
graph @then(%x : f32[]) {
  %a : f32[] = aten.exp.default(%x)
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
graph @else(%x : f32[]) {
  %a : f32[] = aten.add_.Tensor(%x, 1)
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)");
  EXPECT_EQ(Clean(&program).num_nodes, 1u);
  ExpectLacks(program, "aten.exp");
  ExpectHas(program, "aten.add_");
}

TEST(RemoveDeadCode, GraphsGoWithTheirHolder) {
  Program program = Parse(R"(
graph @main(%p : bool[], %x : f32[]) {
  %a : f32[] = higher_order.cond(%p, @then, @else, [%x]) single_return False
  %b : f32[] = call @child(%a)
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
graph @then(%x : f32[]) {
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
graph @else(%x : f32[]) {
  return (%x)
}
graph @child(%x : f32[]) {
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)");
  const RemoveDeadCodeReport report = Clean(&program);
  EXPECT_EQ(report.num_nodes, 2u);
  EXPECT_EQ(report.num_graphs, 3u);
  ExpectLacks(program, "graph @then");
  ExpectLacks(program, "graph @child");
}

TEST(RemoveDeadCode, CallsWithEffectsStay) {
  ExpectUnchanged(R"(
graph @main(%p : bool[], %x : f32[]) {
  %a : f32[] = higher_order.cond(%p, @then, @else, [%x]) single_return False
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
graph @then(%x : f32[]) {
  %y : f32[] = aten.bernoulli.default(%x)
  return (%y)
}
graph @else(%x : f32[]) {
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)");
  ExpectUnchanged(R"(
delegate @engine backend "other"
  inputs (f32[])
  outputs (f32[])
graph @main(%x : f32[]) {
  %a : f32[] = delegate @engine(%x)
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)");
}

// Also where the program calls the same graph: it says what a payload computes.
TEST(RemoveDeadCode, WhatDelegatesWereCompiledFromStays) {
  ExpectUnchanged(R"(
delegate @engine backend "other" source @source
  inputs (f32[])
  outputs (f32[])
graph @main(%x : f32[]) {
  %a : f32[] = delegate @engine(%x)
  %y : f32[] = call @source(%a)
  return (%y)
}
graph @source(%x : f32[]) {
  %dead : f32[] = aten.exp.default(%x)
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)");
}

// The size of what nonzero finds is known from nowhere else.
TEST(RemoveDeadCode, R1WhoIntroducesASymbolStays) {
  ExpectUnchanged(R"(
symbol u0 (integer=True)
range u0 in [0, oo]
graph @main(%x : f32[4], %n : i64[]) {
  %a : i64[u0, 1] = aten.nonzero.default(%x)
  %y : f32[u0] = lib.opaque.default(%x)
  return (%y)
}
)");
  Program program = Parse(R"(
symbol u0 (integer=True)
range u0 in [0, oo]
graph @main(%x : f32[4]) {
  %a : i64[u0, 1] = aten.nonzero.default(%x)
  %b : i64[u0, 1] = aten.neg.default(%a)
  %y : f32[4] = aten.neg.default(%x)
  return (%y)
}
)");
  EXPECT_EQ(Clean(&program).num_nodes, 2u);
}

TEST(RemoveDeadCode, RecordedCallsOfWhatIsGoneAreLeftOut) {
  Program program = Parse(R"(
module_call "kept" (%x) -> (%y) in_spec ((*,), {}) out_spec *
module_call "gone" (%x) -> (%a) in_spec ((*,), {}) out_spec *
graph @main(%x : f32[]) {
  %a : f32[] = aten.exp.default(%x)
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)");
  const RemoveDeadCodeReport report = Clean(&program);
  EXPECT_EQ(report.notes.size(), 1u);
  ExpectHas(program, R"(module_call "kept" (%x) -> (%y))");
  ExpectHas(program, "module_call \"gone\"\n");
}

}  // namespace
}  // namespace tenon
