// Writes in place, through views and of state.
#include "lowered.h"

namespace tenon {
namespace {

TEST(Functionalize, M_5_AWriteThroughAViewIsOneOfTheBase) {
  const Program program = Lowered(R"(
graph @main(%x : f32[4, 3]) {
  %c : f32[4, 3] = aten.clone.default(%x)
  %v : f32[2, 3] = aten.slice.Tensor(%c, 0, 1, 3)
  %r : f32[3] = aten.select.int(%v, 0, 0)
  %w : f32[3] = aten.add_.Tensor(%r, 5)
  %n : f32[4, 3] = aten.neg.default(%c)
  %m : f32[2, 3] = aten.neg.default(%v)
  return (%n, %m, %w)
}
)");
  ExpectHas(program, "aten.select_scatter.default");
  ExpectHas(program, "aten.slice_scatter.default");
  ExpectLacks(program, "add_");
}

TEST(Functionalize, AViewThatWasTakenBeforeShowsTheWrite) {
  Lowered(R"(
graph @main(%x : f32[2, 3]) {
  %c : f32[2, 3] = aten.clone.default(%x)
  %flat : f32[6] = aten.view.default(%c, [6])
  %t : f32[3, 2] strides [1, 3] = aten.t.default(%c)
  %w : f32[3, 2] strides [1, 3] = aten.mul_.Tensor(%t, 2)
  %y : f32[6] = aten.neg.default(%flat)
  return (%y)
}
)");
}

TEST(Functionalize, StateThatIsWrittenIsAnOutputOfTheSignature) {
  const Program program = Lowered(R"(
storage @0 = 8 bytes hex"0000000000000000"
buffer "n" : i64[] = @0
graph @main(%n : i64[] = buffer "n", %x : f32[2]) {
  %a : i64[] = aten.add_.Tensor(%n, 1)
  %y : f32[2] = aten.mul.Tensor(%x, %n)
  return (%y)
}
)");
  ASSERT_EQ(program.signature.outputs.size(), 2u);
  EXPECT_EQ(program.signature.outputs[0].kind, OutputKind::kBufferMutation);
}

TEST(Functionalize, BatchNormInTrainingMovesItsStatistics) {
  const Program program = Lowered(R"(
storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 8 bytes hex"0000803f0000803f"
buffer "mean" : f32[2] = @0
buffer "var" : f32[2] = @1
graph @main(%m : f32[2] = buffer "mean", %v : f32[2] = buffer "var", %x : f32[3, 2, 4]) {
  %y : f32[3, 2, 4] = aten.batch_norm.default(%x, None, None, %m, %v, True, 0.25, 0.001, False)
  %z : f32[2] = aten.neg.default(%m)
  return (%y, %z)
}
)");
  EXPECT_EQ(program.signature.outputs.size(), 4u);
}

TEST(Functionalize, AnInputThatIsWrittenIsOne) {
  const Program program = Lowered(R"(
graph @main(%x : f32[2]) {
  %a : f32[2] = aten.add_.Tensor(%x, 1)
  %y : f32[2] = aten.mul.Tensor(%x, %x)
  return (%y)
}
)");
  EXPECT_EQ(program.signature.outputs[0].kind, OutputKind::kUserInputMutation);
}

TEST(Functionalize, AWriteThatCantBePutBackIsRefused) {
  Program program = Parse(R"(
graph @main(%x : f32[3, 3]) {
  %c : f32[3, 3] = aten.clone.default(%x)
  %d : f32[3] strides [4] = aten.diagonal.default(%c)
  %w : f32[3] strides [4] = aten.mul_.Tensor(%d, 2)
  return (%c)
}
)");
  const std::string before = Print(program);
  Diagnostics diags;
  EXPECT_FALSE(LowerProgram(&program, diags));
  EXPECT_NE(diags.FirstError().find("aten.diagonal.default"), std::string::npos)
      << diags.ToString();
  EXPECT_EQ(Print(program), before);
}

// A copy of one of them wouldn't see the write.
TEST(Lower, J_9_StateThatIsWrittenByTwoNamesIsRefused) {
  Program program = Parse(R"(
storage @0 = 16 bytes hex"0000803f000000400000404000008040"
buffer "a" : f32[2, 2] = @0
buffer "b" : f32[2, 2] strides [1, 2] = @0
graph @main(%a : f32[2, 2] = buffer "a", %b : f32[2, 2] strides [1, 2] = buffer "b", %x : f32[2, 2]) {
  %n : f32[2, 2] = aten.add_.Tensor(%a, %x)
  %y : f32[2, 2] strides [1, 2] = aten.neg.default(%b)
  return (%y)
}
)");
  Diagnostics diags;
  EXPECT_FALSE(LowerProgram(&program, diags));
  EXPECT_NE(diags.FirstError().find("shares its storage with 'b'"),
            std::string::npos)
      << diags.ToString();
}

TEST(Lower, WrappersGiveWayToWhatTheyHold) {
  const Program program = Lowered(R"(
graph @main(%x : f32[2]) {
  %y : f32[2] = higher_order.wrap_with_set_grad_enabled(False, @body, %x) single_return True
  return (%y)
}
graph @body(%a : f32[2]) {
  %b : f32[2] = aten.neg.default(%a)
  return (%b)
}
)");
  ExpectLacks(program, "wrap_with");
}

TEST(Lower, WhatHasNoKernelIsListedWithItsLine) {
  Program program = Parse(R"(
graph @main(%x : f32[2, 2]) {
  %a : f32[2, 2] = aten.digamma.default(%x) #0
  return (%a)
}
meta #0 {
  stack_trace: "File \"model.py\", line 12, in forward\n    y = inverse"
}
)");
  Diagnostics diags;
  ASSERT_TRUE(LowerProgram(&program, diags));
  const auto missing = FindMissingKernels(program, HasStockKernel);
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].line, "model.py:12, in forward");
}

}  // namespace
}  // namespace tenon
