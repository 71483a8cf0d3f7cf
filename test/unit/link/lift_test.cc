// State references become inputs, wherever they stand (rules L, J-8).
#include "link/lift.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/digest.h"
#include "link/declare_writes.h"
#include "programs.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

void ExpectValid(const Program& program) {
  Diagnostics diags;
  EXPECT_TRUE(Verify(program, VerifyOptions(), diags)) << diags.ToString();
}

std::string Printed(const Program& program) {
  PrintOptions options;
  options.metadata = false;
  return PrintProgram(program, options);
}

TEST(Lift, L9LiftAfterUnliftIsTheSame) {
  const Program before = Parse(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
storage @1 = 4 bytes hex"00000000"
parameter "w" : f32[] = @0
buffer "n" : f32[] = @1
in_spec ((*,), {})
out_spec *
graph @main(%w : f32[] = parameter "w", %n : f32[] = buffer "n", %x : f32[]) {
  %add_ : f32[] = aten.add_.Tensor(%n, %x)
  %y : f32[] = aten.mul.Tensor(%add_, %w)
  return (%add_ as buffer_mutation "n", %y)
}
)");
  Program program = before.Clone();
  Unlift(&program);
  ExpectValid(program);
  EXPECT_EQ(WiringDigest(program), WiringDigest(before));
  Diagnostics diags;
  ASSERT_TRUE(Lift(&program, diags)) << diags.ToString();
  ExpectValid(program);
  EXPECT_EQ(Printed(program), Printed(before));
}

// Both branches get the operand, also the one that doesn't use it; a graph that
// two operators hold gets it once, from both.
TEST(Lift, J8StateOfNestedGraphsIsPassed) {
  Program program = Parse(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
in_spec ((*, *), {})
out_spec (*, *)
graph @main(%p : bool[], %x : f32[]) {
  %y : f32[] = higher_order.cond(%p, @then, @else, [%x]) single_return False
  %z : f32[] = higher_order.cond(%p, @then, @else, [%y]) single_return False
  return (%y, %z)
}
graph @then(%a : f32[]) {
  %q : bool[] = aten.gt.Scalar(%a, 0)
  %t : f32[] = higher_order.cond(%q, @inner, @other, [%a]) single_return False
  return (%t)
}
graph @else(%b : f32[]) {
  %t : f32[] = aten.neg.default(%b)
  return (%t)
}
graph @inner(%c : f32[]) {
  %m : f32[] = get_attr "n"
  %t : f32[] = aten.mul.Tensor(%c, %m)
  return (%t)
}
graph @other(%d : f32[]) {
  %t : f32[] = aten.neg.default(%d)
  return (%t)
}
)");
  ExpectValid(program);
  const Digest before = WiringDigest(program);
  Diagnostics diags;
  ASSERT_TRUE(Lift(&program, diags)) << diags.ToString();
  ExpectValid(program);
  EXPECT_EQ(WiringDigest(program), before);
  EXPECT_EQ(program.root().inputs.size(), 3u);
  for (uint32_t g = 1; g < program.num_graphs(); ++g) {
    EXPECT_EQ(program.graph(GraphId(g)).inputs.size(), 2u) << Printed(program);
    for (const NodeId n : program.nodes(GraphId(g))) {
      EXPECT_NE(program.node(n).kind, NodeKind::kGetState);
    }
  }
}

TEST(Lift, J8AnUnknownOperatorsGraphsAreLeft) {
  Program program = Parse(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
graph @main(%x : f32[]) {
  %y : f32[] = higher_order.mystery(@body, [%x]) single_return False
  return (%y)
}
graph @body(%a : f32[]) {
  %m : f32[] = get_attr "n"
  %t : f32[] = aten.mul.Tensor(%a, %m)
  return (%t)
}
)");
  const std::string before = Printed(program);
  Diagnostics diags;
  EXPECT_FALSE(Lift(&program, diags));
  EXPECT_NE(diags.ToString().find("higher_order.mystery"), std::string::npos)
      << diags.ToString();
  EXPECT_EQ(Printed(program), before);
}

// --- declared writes ---

TEST(DeclareMutations, L6TheLastWriteOfEachTargetOnce) {
  Program program = Parse(R"(tenon 1
storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 4 bytes hex"00000000"
buffer "n" : f32[2] = @0
constant "c" : f32[] = @1
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[2] = buffer "n", %c : f32[] = constant "c", %x : f32[2]) {
  %first : f32[2] = aten.add_.Tensor(%n, %x)
  %x1 : f32[2] = aten.mul_.Tensor(%x, 2)
  %last : f32[2] = aten.mul_.Tensor(%first, 3)
  %c1 : f32[] = aten.add_.Tensor(%c, 1)
  %y : f32[2] = aten.relu.default(%last)
  return (%y)
}
)");
  const Digest before = WiringDigest(program);
  DeclareMutations(&program);
  ExpectValid(program);
  EXPECT_EQ(WiringDigest(program), before);
  const std::string text = Printed(program);
  EXPECT_NE(text.find("return (%last as buffer_mutation \"n\", "
                      "%x1 as user_input_mutation %x, %y)"),
            std::string::npos)
      << text;
  // Once declared, there is nothing to add.
  DeclareMutations(&program);
  EXPECT_EQ(Printed(program), text);
}

TEST(DeclareMutations, M3AWriteThroughAViewIsTheWholeInput) {
  Program program = Parse(R"(tenon 1
storage @0 = 8 bytes hex"0000000000000000"
buffer "n" : f32[2] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[2] = buffer "n", %x : f32[]) {
  %part : f32[] = aten.select.int(%n, 0, 1)
  %w : f32[] = aten.copy_.default(%part, %x)
  %y : f32[] = aten.relu.default(%w)
  return (%y)
}
)");
  DeclareMutations(&program);
  ExpectValid(program);
  const std::string text = Printed(program);
  EXPECT_NE(text.find("%n as buffer_mutation \"n\""), std::string::npos)
      << text;
}

}  // namespace
}  // namespace tenon
