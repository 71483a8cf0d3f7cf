// What a program's values and instructions are, and what is refused.
#include "made.h"

namespace tenon {
namespace {

TEST(ExportPte, AViewCostsNoInstruction) {
  const std::string text = Made(R"(
graph @main(%x : f32[2, 3]) {
  %a : f32[2, 3] = aten.relu.default(%x)
  %b : f32[6] = aten.view.default(%a, [6])
  %c : f32[6] = aten.neg.default(%b)
  return (%c)
}
)");
  ExpectHas(text, "0: aten::relu.out");
  ExpectHas(text, "1: aten::neg.out");
  ExpectLacks(text, "view");
}

TEST(ExportPte, R_4_ADynamicViewIsPointedAtItsBase) {
  const std::string text = Made(R"(
symbol s0 (positive=True, integer=True) hint 4
range s0 in [2, 16]
graph @main(%x : f32[s0, 3]) {
  %a : f32[s0, 3] = aten.relu.default(%x)
  %b : f32[3*s0] = aten.view.default(%a, [-1])
  return (%b)
}
)");
  ExpectHas(text, "f32[16, 3] bounded");
  ExpectHas(text, "f32[48] bounded");
  ExpectHas(text, "executorch_prim::et_view.default");
}

// D-4 and M-2 as an engine sees them: no bytes are copied but those that
// change.
TEST(ExportPte, M_2_ACacheIsWrittenInPlace) {
  PteExportReport report;
  const std::string text = Made(R"(
storage @0 = 32 bytes hex"0000000000000000000000000000000000000000000000000000000000000000"
buffer "k" : f32[4, 2] = @0
graph @main(%k : f32[4, 2] = buffer "k", %p : i64[1], %x : f32[1, 2]) {
  %new : f32[4, 2] = aten.index_put.default(%k, [%p], %x)
  %y : f32[4, 2] = aten.neg.default(%new)
  return (%new as buffer_mutation "k", %y)
}
)",
                                &report);
  EXPECT_EQ(report.methods[0].num_in_place, 1u);
  EXPECT_EQ(report.methods[0].copies.size(), 0u);
  ExpectHas(text, "aten::index_put_");
  ExpectLacks(text, "aten::copy_");
}

TEST(ExportPte, M_3_AnOldStateThatIsReadLaterIsCopiedBack) {
  PteExportReport report;
  const std::string text = Made(R"(
storage @0 = 8 bytes hex"0000000000000000"
buffer "k" : f32[2] = @0
graph @main(%k : f32[2] = buffer "k", %x : f32[2]) {
  %new : f32[2] = aten.add.Tensor(%k, %x)
  %y : f32[2] = aten.mul.Tensor(%k, %x)
  return (%new as buffer_mutation "k", %y)
}
)",
                                &report);
  EXPECT_EQ(report.methods[0].num_in_place, 0u);
  EXPECT_EQ(report.methods[0].copies.size(), 1u);
  ExpectHas(text, "aten::copy_");
}

TEST(ExportPte, TwoBuffersThatChangePlacesAreCopiedFirst) {
  const std::string text = Made(R"(
storage @0 = 4 bytes hex"0000803f"
storage @1 = 4 bytes hex"00000040"
buffer "a" : f32[1] = @0
buffer "b" : f32[1] = @1
graph @main(%a : f32[1] = buffer "a", %b : f32[1] = buffer "b", %x : f32[1]) {
  %y : f32[1] = aten.add.Tensor(%a, %x)
  return (%b as buffer_mutation "a", %a as buffer_mutation "b", %y)
}
)");
  ExpectHas(text, "aten::clone.out");
}

// The stock exporter looks both up by name, and the state is lost.
TEST(ExportPte, L_3_ABufferThatIsCalledLikeAnInputStaysABuffer) {
  PteExportReport report;
  const std::string text = Made(R"(
storage @0 = 4 bytes hex"0000803f"
buffer "k" : f32[1] = @0
graph @main(%k : f32[1] = buffer "k", %k#2 : f32[1]) {
  %new : f32[1] = aten.add.Tensor(%k, %k#2)
  return (%new as buffer_mutation "k", %k#2)
}
)",
                                &report);
  ExpectHas(text, "inputs [%1]");
  ExpectHas(text, "outputs [%1]");
  EXPECT_EQ(report.methods[0].num_in_place, 1u);
}

TEST(ExportPte, V_PTE_31_AllNodesWithoutAKernelAreNamedAtOnce) {
  const Diagnostics diags = Refused(R"(
graph @main(%x : f32[3, 3]) {
  %a : f32[3, 3] = aten.digamma.default(%x) #0
  %b : f32[3, 3] = aten.erfinv.default(%a)
  return (%b)
}
meta #0 {
  stack_trace: "File \"model.py\", line 12, in forward\n    y = f x"
}
)");
  ASSERT_EQ(diags.num_errors(), 1u);
  const Diagnostic& error = diags.all()[0];
  EXPECT_EQ(error.rule, Rule::kPte31);
  ExpectHas(error.message, "2 nodes have no kernel");
  ExpectHas(error.message, "aten.digamma.default, aten.erfinv.default");
  ExpectHas(error.message, "backends cpu and reference");
  ASSERT_EQ(error.notes.size(), 2u);
  ExpectHas(error.notes[0].message, "model.py:12, in forward");
}

TEST(ExportPte, V_PTE_31_ADtypeWithoutKernels) {
  const Diagnostics diags = Refused(R"(
graph @main(%x : u16[3]) {
  %a : u16[3] = aten.add.Tensor(%x, %x)
  return (%a)
}
)");
  EXPECT_EQ(diags.all()[0].rule, Rule::kPte31);
  ExpectHas(diags.FirstError(), "takes no tensors of uint16");
}

constexpr std::string_view kUnbounded = R"(
symbol s0 (positive=True, integer=True) hint 4
range s0 in [2, oo]
graph @main(%x : f32[3, s0]) {
  %a : f32[3, s0] = aten.relu.default(%x)
  return (%a)
}
)";

TEST(ExportPte, V_PTE_32_ASizeWithoutABoundIsNamed) {
  const Diagnostics diags = Refused(kUnbounded);
  EXPECT_EQ(diags.all()[0].rule, Rule::kPte32);
  ExpectHas(diags.FirstError(), "dimension 1 is s0");
}

TEST(ExportPte, ABoundMayBeGiven) {
  PteExportOptions options;
  options.bounds["s0"] = 20;
  PteExportReport report;
  ExpectHas(Made(kUnbounded, &report, options), "f32[3, 20] bounded");
}

TEST(ExportPte, V_PTE_33_ANumberThatVariesIsRefused) {
  const Diagnostics diags = Refused(R"(
symbol s0 (integer=True) hint 4
range s0 in [2, 10]
graph @main(%x : f32[3], %n : SymInt(s0)) {
  %a : f32[3] = aten.mul.Tensor(%x, %n)
  return (%a)
}
)");
  EXPECT_EQ(diags.all()[0].rule, Rule::kPte33);
}

constexpr std::string_view kTwoConds = R"(
graph @main(%p : bool[], %x : f32[4]) {
  %a : f32[4] = higher_order.cond(%p, @t, @f, [%x]) single_return True
  %b : f32[4] = higher_order.cond(%p, @t2, @f2, [%x]) single_return True
  %c : f32[4] = aten.add.Tensor(%a, %b)
  return (%c)
}
graph @t(%x : f32[4]) {
  %y : f32[4] = aten.neg.default(%x)
  return (%y)
}
graph @f(%x : f32[4]) {
  return (%x)
}
graph @t2(%x : f32[4]) {
  %y : f32[4] = aten.relu.default(%x)
  return (%y)
}
graph @f2(%x : f32[4]) {
  %y : f32[4] = aten.abs.default(%x)
  return (%y)
}
)";

// A branch writes where the caller reads; MakePte fails when one result lies
// over another that is still read.
TEST(ExportPte, TwoConditionalsInARowKeepTheirResultsApart) {
  const std::string text = Made(kTwoConds);
  ExpectHas(text, "aten::neg.out");
  ExpectHas(text, "aten::clone.out");
  ExpectLacks(text, "move");
}

TEST(ExportPte, EqualConstantsAreStoredOnce) {
  PteExportReport report;
  Made(R"(
storage @0 = 4 bytes hex"0000803f"
storage @1 = 4 bytes hex"0000803f"
parameter "a" : f32[1] = @0
parameter "b" : f32[1] = @1
graph @main(%a : f32[1] = parameter "a", %b : f32[1] = parameter "b", %x : f32[1]) {
  %y : f32[1] = aten.add.Tensor(%x, %a)
  %z : f32[1] = aten.add.Tensor(%y, %b)
  return (%z)
}
)",
       &report);
  EXPECT_EQ(report.constant_bytes, 4u);
}

}  // namespace
}  // namespace tenon
