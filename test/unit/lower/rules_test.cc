// What operators become, and that it computes the same (T-3).
#include "lowered.h"

namespace tenon {
namespace {

TEST(LowerRules, T_3_ATransposedWeightIsALinearLayer) {
  const Program program = Lowered(R"(
graph @main(%b : f32[4], %w : f32[4, 3], %x : f32[2, 3]) {
  %t : f32[3, 4] strides [1, 3] = aten.permute.default(%w, [1, 0])
  %y : f32[2, 4] = aten.addmm.default(%b, %x, %t)
  %z : f32[2, 4] = aten.mm.default(%x, %t)
  return (%y, %z)
}
)");
  ExpectHas(program, "aten.linear.default(%x, %w, %b)");
  ExpectLacks(program, "permute");
}

TEST(LowerRules, ViewsOfTheSameOrderAreOneKind) {
  const Program program = Lowered(R"(
graph @main(%x : f32[2, 3, 4]) {
  %a : f32[6, 4] = aten.reshape.default(%x, [-1, 4])
  %b : f32[6, 1, 4] = aten.unsqueeze.default(%a, 1)
  %c : f32[24] = aten.flatten.using_ints(%b)
  return (%c)
}
)");
  ExpectHas(program, "aten.view_copy.default");
  ExpectLacks(program, "unsqueeze");
}

TEST(LowerRules, ATransposeIsCopiedAndOneOfOnesIsAView) {
  const Program program = Lowered(R"(
graph @main(%x : f32[2, 1, 3]) {
  %a : f32[3, 1, 2] strides [1, 3, 3] = aten.transpose.int(%x, 0, 2)
  %b : f32[1, 2, 3] strides [3, 3, 1] = aten.transpose.int(%x, 0, 1)
  return (%a, %b)
}
)");
  ExpectHas(program, "%a : f32[3, 1, 2] = aten.transpose_copy.int(%x, 0, 2)");
  ExpectHas(program, "%b : f32[1, 2, 3] = aten.view_copy.default");
}

TEST(LowerRules, NumbersTakeKernelsForNumbers) {
  const Program program = Lowered(R"(
graph @main(%x : f32[3]) {
  %a : f32[3] = aten.add.Tensor(%x, 2)
  %b : f32[3] = aten.sub.Tensor(1.0, %a)
  %c : f32[3] = aten.div.Tensor(%b, 4)
  %d : bool[3] = aten.gt.Tensor(%c, 0)
  return (%c, %d)
}
)");
  ExpectHas(program, "aten.add.Scalar(%x, 2");
  ExpectHas(program, "aten.rsub.Scalar(%a, 1.0");
  ExpectHas(program, "aten.div.Scalar(%b, 4)");
  ExpectHas(program, "aten.gt.Scalar(%c, 0)");
}

TEST(LowerRules, OperandsOfTwoDtypesAreCast) {
  const Program program = Lowered(R"(
graph @main(%i : i64[3], %x : f32[3]) {
  %y : f32[3] = aten.mul.Tensor(%i, %x)
  %z : bool[3] = aten.lt.Tensor(%i, %x)
  return (%y, %z)
}
)");
  ExpectHas(program, "aten._to_copy.default(%i, dtype=torch.float32)");
}

TEST(LowerRules, AttentionWithAMaskThatHidesARow) {
  Lowered(R"(
graph @main(%q : f32[1, 2, 3, 4], %k : f32[1, 2, 5, 4], %v : f32[1, 2, 5, 4],
    %m : bool[3, 5]) {
  %none : bool[3, 5] = aten.bitwise_and.Tensor(%m, %m)
  %y : f32[1, 2, 3, 4] = aten.scaled_dot_product_attention.default(%q, %k, %v, %none)
  %z : f32[1, 2, 3, 4] = aten.scaled_dot_product_attention.default(%q, %k, %v, None, 0.0, True)
  return (%y, %z)
}
)");
}

TEST(LowerRules, Activations) {
  Lowered(R"(
graph @main(%x : f32[23]) {
  %a : f32[23] = aten.silu.default(%x)
  %b : f32[23] = aten.hardsigmoid.default(%x)
  %c : f32[23] = aten.softplus.default(%x, 2.0)
  %d : f32[23] = aten.log_sigmoid.default(%x)
  %e : f32[23] = aten.pow.Tensor_Scalar(%x, 3)
  %f : f32[23] = aten.nan_to_num.default(%x)
  return (%a, %b, %c, %d, %e, %f)
}
)");
}

TEST(LowerRules, WhatDelegatesHaveNodesOfComesLate) {
  constexpr std::string_view kText = R"(
graph @main(%x : f32[2, 3, 4], %w : f32[3], %one : f32[1], %v : f32[1, 3, 1]) {
  %a : f32[2, 3, 4] = aten.hardswish.default(%x)
  %b : f32[2, 3, 4] = aten.prelu.default(%a, %w)
  %c : f32[2, 3, 4] = aten.prelu.default(%b, %one)
  %d : f32[2, 3, 4] = aten._prelu_kernel.default(%c, %v)
  return (%a, %b, %c, %d)
}
)";
  Program program = Parse(kText);
  Diagnostics diags;
  ASSERT_TRUE(LowerProgram(&program, diags)) << diags.ToString();
  ExpectHas(program, "aten.hardswish.default(%x)");
  ExpectHas(program, "aten.prelu.default(%a, %w)");
  ExpectHas(program, "aten._prelu_kernel.default");
  ExpectLowers(kText);
}

TEST(LowerRules, ProductsOfEveryRank) {
  Lowered(R"(
graph @main(%v : f32[3], %m : f32[3, 4], %b : f32[2, 1, 5, 3], %c : f32[6, 3, 4]) {
  %1 : f32[] = aten.matmul.default(%v, %v)
  %2 : f32[4] = aten.matmul.default(%v, %m)
  %3 : f32[2, 1, 5] = aten.matmul.default(%b, %v)
  %4 : f32[2, 1, 5, 4] = aten.matmul.default(%b, %m)
  %5 : f32[2, 6, 5, 4] = aten.matmul.default(%b, %c)
  %6 : f32[6, 4] = aten.matmul.default(%v, %c)
  return (%1, %2, %3, %4, %5, %6)
}
)");
}

TEST(LowerRules, Reductions) {
  Lowered(R"(
graph @main(%x : f32[3, 4], %f : bool[3, 4]) {
  %a : f32[] = aten.sum.default(%x)
  %b : bool[] = aten.all.default(%f)
  %c : f32[3] = aten.logsumexp.default(%x, [1])
  %d : f32[3, 4], %e : i64[3, 4] = aten.sort.default(%x, 1, True)
  %g : f32[3, 3] = aten.diff.default(%x)
  %h : f32[4] = aten.linalg_vector_norm.default(%x, 2, [0])
  return (%a, %b, %c, %d, %g, %h)
}
)");
}

TEST(LowerRules, ABagThatIsEmptyIsZero) {
  Lowered(R"(
graph @main(%w : f32[4, 2], %i : i64[5]) {
  %o : i64[3] = aten.arange.start_step(0, 3, 1)
  %a : f32[3, 2], %b : i64[5], %c : i64[3], %d : i64[3] = aten.embedding_bag.default(%w, %i, %o, False, 1)
  return (%a)
}
)");
}

}  // namespace
}  // namespace tenon
