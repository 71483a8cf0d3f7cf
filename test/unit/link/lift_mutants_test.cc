// State references wherever they stand, by what holds their graph (L, J-8).
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../../one_line.h"
#include "analysis/digest.h"
#include "build.h"
#include "link/lift.h"
#include "programs.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

std::string Printed(const Program& program) { return PrintOnOneLine(program); }

constexpr char kState[] = R"(tenon 1
storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 8 bytes hex"0000000000000000"
storage @2 = 8 bytes hex"0000000000000000"
storage @3 = 4 bytes hex"00000000"
parameter "a.w" : f32[2] = @0
buffer "a.n" : f32[2] = @1
buffer "a.m" : f32[2] = @2
buffer "a.s" : f32[] = @3
constant "a.c" : f32[2] = @2
)";

// Lifted, sound before and after, with the meaning that it had.
std::string Lifted(std::string_view graphs) {
  Program program = Parse(kState + std::string(graphs));
  Diagnostics diags;
  EXPECT_TRUE(Verify(program, VerifyOptions(), diags)) << diags.ToString();
  const Digest before = WiringDigest(program);
  EXPECT_TRUE(Lift(&program, diags)) << diags.ToString();
  EXPECT_TRUE(Verify(program, VerifyOptions(), diags))
      << diags.ToString() << Printed(program);
  EXPECT_EQ(WiringDigest(program), before) << Printed(program);
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (program.graph(GraphId(g)).is_erased) continue;
    for (const NodeId n : program.nodes(GraphId(g))) {
      EXPECT_NE(program.node(n).kind, NodeKind::kGetState);
    }
  }
  return Printed(program);
}

// --- the root graph ---

TEST(Lift, L1InputsAreInGroupsAndInTheOrderOfTheTable) {
  const std::string text = Lifted(R"(
graph @main(%z : f32[2], %x : f32[2]) {
  %c : f32[2] = get_attr "a.c"
  %m : f32[2] = get_attr "a.m"
  %n : f32[2] = get_attr "a.n"
  %r : f32[2] = aten.add.Tensor(%c, %m)
  %s : f32[2] = aten.add.Tensor(%r, %n)
  %w : f32[2] = get_attr "a.w"
  %t : f32[2] = aten.sub.Tensor(%s, %w)
  %z1 : f32[2] = aten.add.Tensor(%z, %x)
  return (%z1 as user_input_mutation %z, %t)
}
)");
  EXPECT_TRUE(Has(text,
                  "@main(%w : f32[2] = parameter \"a.w\", "
                  "%n : f32[2] = buffer \"a.n\", "
                  "%m : f32[2] = buffer \"a.m\", "
                  "%c : f32[2] = constant \"a.c\", "
                  "%z : f32[2], %x : f32[2])"))
      << text;
  // A mutation keeps its target, whose position changed.
  EXPECT_TRUE(Has(text, "%z1 as user_input_mutation %z")) << text;
}

TEST(Lift, L2AnEntryThatHasAnInputGetsNoSecondOne) {
  const std::string text = Lifted(R"(
graph @main(%n : f32[2] = buffer "a.n", %c : f32[2] = constant "a.c",
            %x : f32[2]) {
  %again : f32[2] = get_attr "a.n"
  %s : f32[2] = aten.sub.Tensor(%x, %again)
  %t : f32[2] = aten.sub.Tensor(%s, %n)
  %u : f32[2] = aten.sub.Tensor(%t, %c)
  return (%u)
}
)");
  EXPECT_TRUE(Has(text,
                  "@main(%n : f32[2] = buffer \"a.n\", "
                  "%c : f32[2] = constant \"a.c\", %x : f32[2])"))
      << text;
  EXPECT_TRUE(Has(text, "aten.sub.Tensor(%x, %n)")) << text;
}

TEST(Lift, L2ReferencesToMissingStateAreErrors) {
  Program program = Parse(kState + std::string(R"(
graph @main(%x : f32[2]) {
  %n : f32[2] = get_attr "a.n"
  %s : f32[2] = aten.sub.Tensor(%x, %n)
  return (%s)
}
)"));
  Diagnostics diags;
  const NodeId n = program.root().first;
  program.mutable_node(n).state = StateId(5u);
  EXPECT_FALSE(Lift(&program, diags));
  EXPECT_TRUE(Has(diags.ToString(), "[L-2]")) << diags.ToString();
  program.mutable_node(n).state = StateId(4u);
  program.signature.inputs.emplace_back();
  EXPECT_FALSE(Lift(&program, diags));
  program.signature.inputs.pop_back();
  EXPECT_TRUE(Lift(&program, diags)) << diags.ToString();
}

TEST(Lift, L2AGraphThatIsGoneRefersToNothing) {
  Program program = Parse(kState + std::string(R"(
graph @main(%x : f32[2]) {
  return (%x)
}
graph @gone(%y : f32[2]) {
  %n : f32[2] = get_attr "a.n"
  return (%n)
}
)"));
  const NodeId n = program.graph(GraphId(1u)).first;
  program.mutable_node(n).state = StateId(9u);
  program.mutable_graph(GraphId(1u)).is_erased = true;
  Diagnostics diags;
  EXPECT_TRUE(Lift(&program, diags)) << diags.ToString();
  EXPECT_EQ(program.root().inputs.size(), 1u);
}

TEST(Lift, L9UnliftKeepsTheOrderOfUserInputsAndMutations) {
  Program program = Parse(kState + std::string(R"(
graph @main(%w : f32[2] = parameter "a.w", %x : f32[2],
            %n : f32[2] = buffer "a.n", %z : f32[2]) {
  %t : f32[2] = aten.sub.Tensor(%n, %w)
  %z1 : f32[2] = aten.add.Tensor(%z, %x)
  return (%z1 as user_input_mutation %z, %t)
}
)"));
  Unlift(&program);
  const std::string text = Printed(program);
  EXPECT_TRUE(Has(text, "@main(%x : f32[2], %z : f32[2])")) << text;
  EXPECT_TRUE(Has(text, "%z1 as user_input_mutation %z")) << text;
  EXPECT_LT(text.find("get_attr \"a.w\""), text.find("get_attr \"a.n\""));
  EXPECT_LT(text.find("get_attr \"a.n\""), text.find("aten.sub"));
}

// --- nested graphs ---

// One graph as both branches, two references to one entry, no operands yet.
TEST(Lift, J8AnEmptyListOfOperandsGrows) {
  const std::string text = Lifted(R"(
graph @main(%p : bool[]) {
  %y : f32[2] = higher_order.cond(%p, @body, @body, []) single_return False
  return (%y)
}
graph @body() {
  %c : f32[2] = get_attr "a.c"
  %n : f32[2] = get_attr "a.n"
  %m : f32[2] = get_attr "a.n"
  %t : f32[2] = aten.sub.Tensor(%n, %c)
  %u : f32[2] = aten.sub.Tensor(%t, %m)
  return (%u)
}
)");
  EXPECT_TRUE(Has(text,
                  "higher_order.cond(%p, @body, @body, "
                  "[%a.c, %a.n])"))
      << text;
  EXPECT_TRUE(Has(text, "graph @body(%a.c : f32[2], %a.n : f32[2]) {")) << text;
}

// Something in the list's place, or nothing: where more would go isn't known.
TEST(Lift, J8OperandsWithoutAListAreRefused) {
  for (const std::string_view operands : {", %x", ", 7", ""}) {
    const std::string input = operands == ", %x" ? "%a : f32[2]"
                              : operands.empty() ? ""
                                                 : "%a : int 7";
    Program program = Parse(kState + std::string(R"(
graph @main(%p : bool[], %x : f32[2]) {
  %y : f32[2] = higher_order.cond(%p, @body, @body)") +
                            std::string(operands) + R"() single_return False
  return (%y)
}
graph @body()" + input + R"() {
  %n : f32[2] = get_attr "a.n"
  %t : f32[2] = aten.neg.default(%n)
  return (%t)
}
)");
    Diagnostics diags;
    EXPECT_TRUE(Verify(program, VerifyOptions(), diags)) << diags.ToString();
    const std::string before = Printed(program);
    EXPECT_FALSE(Lift(&program, diags));
    EXPECT_TRUE(Has(diags.ToString(), "[T-UNSUPPORTED]")) << diags.ToString();
    EXPECT_EQ(Printed(program), before);
  }
}

// Operators that take operands one by one.
TEST(Lift, J8OperandsThatAreNoListGrow) {
  const std::string text = Lifted(R"(
graph @main(%x : f32[2]) {
  %y : f32[2] = higher_order.wrap_with_set_grad_enabled(False, @body, %x) single_return False
  return (%y)
}
graph @body(%a : f32[2]) {
  %n : f32[2] = get_attr "a.n"
  %t : f32[2] = aten.sub.Tensor(%a, %n)
  return (%t)
}
)");
  EXPECT_TRUE(Has(text, "(False, @body, %x, %a.n)")) << text;
}

// What the inner graph needs, the outer one passes; branches that need
// different entries both get both.
TEST(Lift, J8EveryLevelPassesWhatTheInnerNeeds) {
  const std::string text = Lifted(R"(
graph @main(%p : bool[], %x : f32[2]) {
  %y : f32[2] = higher_order.cond(%p, @then, @else, [%x]) single_return False
  %w : f32[2] = get_attr "a.w"
  %z : f32[2] = aten.add.Tensor(%y, %w)
  return (%z)
}
graph @then(%a : f32[2]) parameters ["a.w"] {
  %t : f32[2] = higher_order.wrap_with_set_grad_enabled(True, @inner, %a) single_return False
  return (%t)
}
graph @else(%b : f32[2]) {
  %w : f32[2] = get_attr "a.w"
  %t : f32[2] = aten.sub.Tensor(%b, %w)
  return (%t)
}
graph @inner(%c : f32[2]) {
  %n : f32[2] = get_attr "a.n"
  %t : f32[2] = aten.sub.Tensor(%c, %n)
  return (%t)
}
)");
  // Control flow passes by position: an entry may be called like a parameter.
  EXPECT_TRUE(Has(text,
                  "graph @then(%a : f32[2], %a.n : f32[2], "
                  "%a.w : f32[2]) {"))
      << text;
  EXPECT_TRUE(Has(text,
                  "graph @else(%b : f32[2], %a.n : f32[2], "
                  "%a.w : f32[2]) {"))
      << text;
  EXPECT_TRUE(Has(text, "graph @inner(%c : f32[2], %a.n : f32[2]) {")) << text;
  EXPECT_TRUE(Has(text, "@then, @else, [%x, %n, %w])") ||
              Has(text, "@then, @else, [%x, %a.n, %w])") ||
              Has(text, "@then, @else, [%x, %a.n, %a.w])"))
      << text;
}

TEST(Lift, J8DelegatesGetTheStateOfTheirSources) {
  const std::string text = Lifted(R"(
delegate @r backend "cpu" source @r_source
  inputs (f32[2]) names ["x"]
  outputs (f32[2]) names ["y"]
delegate @s backend "cpu" source @s_source
  inputs (f32[2])
  outputs (f32[2])
delegate @opaque backend "cpu"
  inputs (f32[2])
  outputs (f32[2])
graph @main(%x : f32[2]) {
  %y : f32[2] = delegate @r(%x)
  %z : f32[2] = delegate @r(%y)
  %u : f32[2] = delegate @s(%z)
  %v : f32[2] = delegate @opaque(%u)
  %k : f32[4, 2] = aten.stack.default([%v, %u, %x, %v])
  return (%k)
}
graph @r_source(%a : f32[2]) {
  %n : f32[2] = get_attr "a.n"
  %t : f32[2] = aten.sub.Tensor(%a, %n)
  return (%t)
}
graph @s_source(%b : f32[2]) {
  %n : f32[2] = get_attr "a.n"
  %t : f32[2] = aten.sub.Tensor(%n, %b)
  return (%t)
}
)");
  EXPECT_TRUE(Has(text, "inputs (f32[2], f32[2]) names [\"x\", \"a.n\"]\n"))
      << text;
  EXPECT_TRUE(Has(text, "inputs (f32[2], f32[2])\n")) << text;
  EXPECT_TRUE(Has(text, "delegate @opaque(%u)")) << text;
}

// Without references below, even an operator of unknown convention is left.
TEST(Lift, J8GraphsWithoutReferencesAreLeftAlone) {
  const std::string text = Lifted(R"(
graph @main(%x : f32[2]) {
  %n : f32[2] = get_attr "a.n"
  %y : f32[2] = higher_order.mystery(@body, [%x, %n]) single_return False
  return (%y)
}
graph @body(%a : f32[2], %b : f32[2]) {
  %t : f32[2] = aten.sub.Tensor(%a, %b)
  return (%t)
}
)");
  EXPECT_TRUE(Has(text, "higher_order.mystery(@body, [%x, %n])")) << text;
}

// A child that wasn't joined has no place for the state of its callers.
TEST(Lift, J8CallsMustBeJoinedFirst) {
  Program program = Parse(kState + std::string(R"(
graph @main(%x : f32[2]) {
  %y : f32[2] = call @child(%x)
  return (%y)
}
graph @child(%a : f32[2]) {
  %n : f32[2] = get_attr "a.n"
  %t : f32[2] = aten.sub.Tensor(%a, %n)
  return (%t)
}
)"));
  const std::string before = Printed(program);
  Diagnostics diags;
  EXPECT_FALSE(Lift(&program, diags));
  EXPECT_TRUE(Has(diags.ToString(), "[T-UNSUPPORTED]")) << diags.ToString();
  EXPECT_EQ(Printed(program), before);
}

}  // namespace
}  // namespace tenon
