// What is folded, what isn't, and what a new constant is like.
#include "passes/fold_constants.h"

#include "passes/remove_dead_code.h"
#include "programs.h"

namespace tenon {
namespace {

FoldConstantsReport Fold(Program* program,
                         const FoldConstantsOptions& options = {}) {
  Diagnostics diags;
  const auto report = FoldConstants(program, options, diags);
  EXPECT_TRUE(report) << diags.ToString();
  ExpectValid(*program);
  return report ? *report : FoldConstantsReport();
}

void ExpectUnchanged(std::string_view text,
                     const FoldConstantsOptions& options = {}) {
  Program program = Parse(text);
  const std::string before = Print(program);
  EXPECT_EQ(Fold(&program, options).num_nodes, 0u);
  EXPECT_EQ(Print(program), before);
}

FoldConstantsOptions Weights() {
  FoldConstantsOptions options;
  options.weights = true;
  return options;
}

TEST(FoldConstants, AChainBecomesOneConstant) {
  Program program = Parse(R"(
storage @0 = 8 bytes hex"0000803f00000040"
constant "c" : f32[2] = @0
graph @main(%c : f32[2] = constant "c", %x : f32[2]) {
  %a : f32[2] = aten.mul.Tensor(%c, 2)
  %b : f32[2] = aten.add.Tensor(%a, %c)
  %y : f32[2] = aten.add.Tensor(%x, %b)
  return (%y)
}
)");
  const FoldConstantsReport report = Fold(&program);
  EXPECT_EQ(report.num_nodes, 2u);
  EXPECT_EQ(report.constants, std::vector<std::string>{"folded_b"});
  EXPECT_EQ(report.bytes, 8u);
  EXPECT_EQ(report.num_removed, 1u);
  EXPECT_EQ(report.bytes_removed, 8u);
  // 3 and 6.
  ExpectHas(program, R"(storage @0 = 8 bytes hex"000040400000c040")");
  ExpectHas(program,
            R"(graph @main(%b : f32[2] = constant "folded_b", %x : f32[2]))");
  ExpectLacks(program, "aten.mul");
}

// Nothing but literals, with a dtype of its own.
TEST(FoldConstants, LiteralsAloneAreEnough) {
  Program program = Parse(R"(
graph @main(%x : bf16[2]) {
  %a : bf16[2] = aten.full.default([2], 1.5, dtype=torch.bfloat16)
  %y : bf16[2] = aten.mul.Tensor(%x, %a)
  return (%y)
}
)");
  EXPECT_EQ(Fold(&program).num_nodes, 1u);
  ExpectHas(program, R"(constant "folded_a" : bf16[2] = @0)");
  ExpectHas(program, R"(hex"c03fc03f")");
}

TEST(FoldConstants, ANewNameIsNobodys) {
  Program program = Parse(R"(
storage @0 = 4 bytes hex"0000803f"
storage @1 = 4 bytes hex"00000040"
buffer "folded_a" : f32[] = @0
constant "folded_a_1" : f32[] = @1
graph @main(%b : f32[] = buffer "folded_a", %x : f32[]) {
  %a : f32[] = aten.full.default([], 3.0)
  %y : f32[] = aten.mul.Tensor(%x, %a)
  %z : f32[] = aten.mul.Tensor(%y, %b)
  return (%z)
}
)");
  EXPECT_EQ(Fold(&program).constants, std::vector<std::string>{"folded_a_2"});
}

TEST(FoldConstants, WhatIsWrittenIsNoConstant) {
  // By a view, under another name of one storage.
  ExpectUnchanged(R"(
storage @0 = 8 bytes hex"0000803f00000040"
constant "c" : f32[2] = @0
constant "d" : f32[2] = @0
graph @main(%c : f32[2] = constant "c", %d : f32[2] = constant "d",
            %x : f32[]) {
  %a : f32[2] = aten.mul.Tensor(%d, 2)
  %v : f32[] = aten.select.int(%c, 0, 0)
  %w : f32[] = aten.copy_.default(%v, %x)
  %y : f32[2] = aten.add.Tensor(%a, %x)
  return (%y)
}
)");
  // A result that is written later.
  ExpectUnchanged(R"(
graph @main(%x : f32[]) {
  %a : f32[2] = aten.zeros.default([2])
  %w : f32[2] = aten.add_.Tensor(%a, %x)
  %y : f32[2] = aten.add.Tensor(%w, %x)
  return (%y)
}
)");
  // Through the signature.
  ExpectUnchanged(R"(
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
graph @main(%n : f32[] = buffer "n", %x : f32[]) {
  %a : f32[] = aten.mul.Tensor(%n, 2)
  %m : f32[] = aten.add.Tensor(%n, %x)
  %y : f32[] = aten.add.Tensor(%a, %x)
  return (%m as buffer_mutation "n", %y)
}
)",
                  Weights());
  // By a nested graph.
  ExpectUnchanged(R"(
storage @0 = 4 bytes hex"00000000"
constant "c" : f32[] = @0
graph @main(%c : f32[] = constant "c", %p : bool[], %x : f32[]) {
  %a : f32[] = aten.mul.Tensor(%c, 2)
  %b : f32[] = higher_order.cond(%p, @then, @else, [%x, %c]) single_return False
  %y : f32[] = aten.add.Tensor(%a, %b)
  return (%y)
}
graph @then(%x : f32[], %c : f32[]) {
  %w : f32[] = aten.add_.Tensor(%c, 1)
  %y : f32[] = aten.mul.Tensor(%w, %x)
  return (%y)
}
graph @else(%x : f32[], %c : f32[]) {
  %y : f32[] = aten.mul.Tensor(%c, %x)
  return (%y)
}
)");
}

// What one graph refers to is what another writes.
TEST(FoldConstants, WhatIsWrittenElsewhereIsNoConstant) {
  ExpectUnchanged(R"(
storage @0 = 4 bytes hex"00000000"
constant "c" : f32[] = @0
graph @main(%p : bool[], %x : f32[]) {
  %c : f32[] = get_attr "c"
  %w : f32[] = aten.add_.Tensor(%c, 1)
  %a : f32[] = higher_order.cond(%p, @then, @else, [%x]) single_return False
  %y : f32[] = aten.mul.Tensor(%a, %w)
  return (%y)
}
graph @then(%x : f32[]) {
  %c : f32[] = get_attr "c"
  %a : f32[] = aten.mul.Tensor(%c, 2)
  %y : f32[] = aten.add.Tensor(%x, %a)
  return (%y)
}
graph @else(%x : f32[]) {
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)");
}

// A caller may write what is returned, directly or as a view.
TEST(FoldConstants, WhatIsReturnedIsMadeEachTime) {
  ExpectUnchanged(R"(
graph @main(%x : f32[2]) {
  %a : f32[2, 1] = aten.ones.default([2, 1])
  %b : f32[2] = aten.ones.default([2])
  %v : f32[2] = aten.view.default(%a, [2])
  %y : f32[2] = aten.add.Tensor(%x, %v)
  return (%v, %y, %b)
}
)");
}

TEST(FoldConstants, ChanceAndFoundMemoryAreNoConstants) {
  ExpectUnchanged(R"(
graph @main(%x : f32[2]) {
  %a : f32[2] = aten.rand.default([2])
  %b : f32[2] = aten.empty.memory_format([2])
  %c : f32[2] = aten.add.Tensor(%a, %b)
  %y : f32[2] = aten.add.Tensor(%x, %c)
  return (%y)
}
)");
}

// It would take the weight's bytes once more, and be another weight.
TEST(FoldConstants, AViewStaysAView) {
  ExpectUnchanged(R"(
storage @0 = 24 bytes zeros
parameter "a" : f32[2, 3] requires_grad = @0
parameter "b" : f32[2, 3] requires_grad = @0
constant "row" : f32[1, 3] = @0
graph @main(%a : f32[2, 3] requires_grad = parameter "a",
            %row : f32[1, 3] = constant "row", %x : f32[2, 3]) {
  %t : f32[3, 2] strides [1, 3] = aten.t.default(%a)
  %e : f32[2, 3] strides [0, 1] = aten.expand.default(%row, [2, 3])
  %m : f32[2, 2] = aten.mm.default(%x, %t)
  %y : f32[2, 3] = aten.add.Tensor(%x, %e)
  return (%m, %y)
}
)",
                  Weights());
}

TEST(FoldConstants, AViewGoesWithAllThatReadsIt) {
  Program program = Parse(R"(
storage @0 = 24 bytes zeros
constant "c" : f32[2, 3] = @0
graph @main(%c : f32[2, 3] = constant "c", %x : f32[3, 2]) {
  %t : f32[3, 2] strides [1, 3] = aten.t.default(%c)
  %s : f32[3, 2] strides [1, 3] = aten.exp.default(%t)
  %y : f32[3, 2] = aten.add.Tensor(%x, %s)
  return (%y)
}
)");
  EXPECT_EQ(Fold(&program).num_nodes, 2u);
  // With the strides that the program states.
  ExpectHas(program, R"(constant "folded_s" : f32[3, 2] strides [1, 3] = @0)");
  ExpectLacks(program, R"(constant "c")");
}

TEST(FoldConstants, DetachInPlaceIsNoWrite) {
  Program program = Parse(R"(
storage @0 = 4 bytes hex"0000803f"
constant "c" : f32[] = @0
graph @main(%c : f32[] = constant "c", %x : f32[]) {
  %a : f32[] = aten.lift_fresh_copy.default(%c)
  %b : f32[] = aten.detach_.default(%a)
  %y : f32[] = aten.add.Tensor(%x, %b)
  return (%y)
}
)");
  EXPECT_EQ(Fold(&program).constants, std::vector<std::string>{"folded_a"});
  ExpectLacks(program, "detach_");
}

TEST(FoldConstants, WeightsOnlyOnRequest) {
  constexpr std::string_view kText = R"(
storage @0 = 4 bytes hex"0000803f"
parameter "w" : f32[] requires_grad = @0
graph @main(%w : f32[] requires_grad = parameter "w", %x : f32[]) {
  %a : f32[] = aten.mul.Tensor(%w, 2)
  %y : f32[] = aten.add.Tensor(%x, %a)
  return (%y)
}
)";
  ExpectUnchanged(kText);
  Program program = Parse(kText);
  EXPECT_EQ(Fold(&program, Weights()).num_nodes, 1u);
  // The state dict stays, and so does its input.
  ExpectHas(program, R"(%w : f32[] requires_grad = parameter "w")");
  ExpectHas(program, R"(constant "folded_a" : f32[] = @1)");
}

// 400 bytes more than what leaves.
TEST(FoldConstants, GrowthHasALimit) {
  constexpr std::string_view kText = R"(
storage @0 = 400 bytes zeros
constant "c" : f32[100] = @0
graph @main(%c : f32[100] = constant "c", %x : f32[100]) {
  %a : f32[100] = aten.add.Tensor(%c, 1)
  %b : f32[100] = aten.add.Tensor(%c, 2)
  %y : f32[100] = aten.add.Tensor(%x, %a)
  %z : f32[100] = aten.mul.Tensor(%y, %b)
  return (%z)
}
)";
  FoldConstantsOptions options;
  options.max_growth_bytes = 399;
  ExpectUnchanged(kText, options);
  options.max_growth_bytes = 400;
  Program program = Parse(kText);
  const FoldConstantsReport report = Fold(&program, options);
  EXPECT_EQ(report.num_nodes, 2u);
  EXPECT_EQ(report.bytes - report.bytes_removed, 400u);
  // In place of what it is made of, nothing grows.
  options.max_growth_bytes = 0;
  Program one = Parse(R"(
storage @0 = 400 bytes zeros
constant "c" : f32[100] = @0
graph @main(%c : f32[100] = constant "c", %x : f32[100]) {
  %a : f32[100] = aten.add.Tensor(%c, 1)
  %y : f32[100] = aten.add.Tensor(%x, %a)
  return (%y)
}
)");
  EXPECT_EQ(Fold(&one, options).num_nodes, 1u);
}

TEST(FoldConstants, LargeResultsAreNotComputed) {
  FoldConstantsOptions options;
  options.max_growth_bytes = 1000;
  options.max_value_bytes = 399;
  constexpr std::string_view kText = R"(
graph @main(%x : f32[100]) {
  %a : f32[100] = aten.zeros.default([100])
  %y : f32[100] = aten.add.Tensor(%x, %a)
  return (%y)
}
)";
  ExpectUnchanged(kText, options);
  options.max_value_bytes = 400;
  options.max_computed_bytes = 399;
  ExpectUnchanged(kText, options);
  options.max_computed_bytes = 400;
  Program program = Parse(kText);
  EXPECT_EQ(Fold(&program, options).num_nodes, 1u);
}

TEST(FoldConstants, NestedGraphsGetTheirConstantsPassed) {
  Program program = Parse(R"(
storage @0 = 4 bytes hex"00000040"
constant "c" : f32[] = @0
graph @main(%c : f32[] = constant "c", %p : bool[], %x : f32[]) {
  %y : f32[] = higher_order.cond(%p, @then, @else, [%x, %c]) single_return False
  %z : f32[] = aten.add.Tensor(%y, %x)
  return (%z)
}
graph @then(%x : f32[], %c : f32[]) {
  %a : f32[] = aten.mul.Tensor(%c, %c)
  %y : f32[] = aten.add.Tensor(%x, %a)
  return (%y)
}
graph @else(%x : f32[], %c : f32[]) {
  %y : f32[] = aten.sub.Tensor(%x, %c)
  return (%y)
}
)");
  EXPECT_EQ(Fold(&program).num_nodes, 1u);
  ExpectHas(program, "@then, @else, [%x, %c, %folded_a]");
  ExpectHas(program, "%y : f32[] = aten.add.Tensor(%x, %folded_a)");
  // 4.
  ExpectHas(program, R"(hex"00008040")");
}

// What a loop carries is another value in each round, and what autocast
// surrounds is computed in another dtype.
TEST(FoldConstants, OtherControlFlowIsLeft) {
  ExpectUnchanged(R"(
storage @0 = 8 bytes hex"0000000000000000"
constant "zero" : i64[] = @0
graph @main(%zero : i64[] = constant "zero", %x : f32[]) {
  %i : i64[], %y : f32[] =
      higher_order.while_loop(@more, @next, [%zero, %x], [])
  return (%y)
}
graph @more(%i : i64[], %x : f32[]) {
  %b : bool[] = aten.lt.Scalar(%i, 3)
  return (%b)
}
graph @next(%i : i64[], %x : f32[]) {
  %j : i64[] = aten.add.Tensor(%i, 1)
  %y : f32[] = aten.mul.Tensor(%x, %i)
  return (%j, %y)
}
)");
  ExpectUnchanged(R"(
graph @main(%x : f32[2, 2]) {
  %y : bf16[2, 2] = higher_order.wrap_with_autocast("cpu", torch.bfloat16, True,
      None, @body, %x) single_return False
  return (%y)
}
graph @body(%x : f32[2, 2]) {
  %a : f32[2, 2] = aten.ones.default([2, 2])
  %b : bf16[2, 2] = aten.mm.default(%a, %a)
  %y : bf16[2, 2] = aten.mm.default(%x, %b)
  return (%y)
}
)");
}

TEST(FoldConstants, WhatDelegatesWereCompiledFromStays) {
  ExpectUnchanged(R"(
delegate @engine backend "other" source @source
  inputs (f32[])
  outputs (f32[])
graph @main(%p : bool[], %x : f32[]) {
  %a : f32[] = delegate @engine(%x)
  %b : f32[] = higher_order.cond(%p, @source, @other, [%a]) single_return False
  %y : f32[] = aten.neg.default(%b)
  return (%y)
}
graph @source(%x : f32[]) {
  %one : f32[] = aten.full.default([], 1.0)
  %y : f32[] = aten.add.Tensor(%x, %one)
  return (%y)
}
graph @other(%x : f32[]) {
  %y : f32[] = aten.neg.default(%x)
  return (%y)
}
)");
}

TEST(FoldConstants, ReferencesStayReferences) {
  Program program = Parse(R"(
storage @0 = 4 bytes hex"00000040"
constant "c" : f32[] = @0
graph @main(%x : f32[]) {
  %c : f32[] = get_attr "c"
  %a : f32[] = aten.mul.Tensor(%c, %c)
  %y : f32[] = aten.add.Tensor(%x, %a)
  return (%y)
}
)");
  EXPECT_EQ(Fold(&program).num_removed, 1u);
  ExpectHas(program, R"(%a : f32[] = get_attr "folded_a")");
  ExpectLacks(program, R"("c")");
}

// A submodule that returned what is a constant now, and one whose value is
// gone.
TEST(FoldConstants, RecordedCallsFollow) {
  Program program = Parse(R"(
module_call "last" (%x) -> (%b) in_spec ((*,), {}) out_spec *
module_call "first" (%x) -> (%a) in_spec ((*,), {}) out_spec *
graph @main(%x : f32[]) {
  %a : f32[] = aten.full.default([], 1.0)
  %b : f32[] = aten.mul.Tensor(%a, 2)
  %y : f32[] = aten.add.Tensor(%x, %b)
  return (%y)
}
)");
  const FoldConstantsReport report = Fold(&program);
  EXPECT_EQ(report.num_nodes, 2u);
  ExpectHas(program, R"(module_call "last" (%x) -> (%b))");
  ExpectHas(program, "module_call \"first\"\n");
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("'first'"), std::string::npos);
}

TEST(FoldConstants, ScalarsAndUnknownSizesStay) {
  ExpectUnchanged(R"(
symbol u0 (integer=True)
range u0 in [0, 10]
storage @0 = 8 bytes hex"0200000000000000"
constant "c" : i64[] = @0
graph @main(%c : i64[] = constant "c", %x : f32[]) {
  %n : SymInt(u0) = aten.item.default(%c)
  %z : f32[u0] = aten.zeros.default([%n])
  %y : f32[u0] = aten.add.Tensor(%z, %x)
  return (%y)
}
)");
}

// An index outside of the dimension fails when it is run, and only then.
TEST(FoldConstants, WhatFailsStays) {
  ExpectUnchanged(R"(
storage @0 = 8 bytes hex"0900000000000000"
constant "i" : i64[1] = @0
graph @main(%i : i64[1] = constant "i", %x : f32[1]) {
  %a : f32[2] = aten.ones.default([2])
  %b : f32[1] = aten.index_select.default(%a, 0, %i)
  %y : f32[1] = aten.add.Tensor(%x, %b)
  return (%y)
}
)",
                  [] {
                    FoldConstantsOptions options;
                    options.max_growth_bytes = 0;
                    return options;
                  }());
}

}  // namespace
}  // namespace tenon
