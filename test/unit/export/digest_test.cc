// T-1: digests are stable over versions of Tenon. A change of these numbers
// makes every digest that was ever noted down worthless.
#include "analysis/digest.h"

#include <gtest/gtest.h>

#include "text/text.h"

namespace tenon {
namespace {

std::string DigestOf(std::string_view text) {
  Diagnostics diags;
  const auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                                    PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return program ? WiringDigest(*program).ToHex() : "";
}

TEST(WiringDigest, T1IsStableForAFunctionalProgram) {
  EXPECT_EQ(DigestOf(R"(tenon 1
symbol s0 (positive=True, integer=True)
range s0 in [2, 4]
storage @0 = 8 bytes hex"0000803f00000040"
parameter "w" : f32[2] requires_grad = @0
in_spec ((*,), {first: *})
out_spec (*, [*])
graph @main(%w : f32[2] requires_grad = parameter "w", %x : f32[s0, 2],
            %first : f32[s0, 2]) {
  %sub : f32[s0, 2] = aten.sub.Tensor(%x, %first, alpha=2)
  %mul : f32[s0, 2] requires_grad = aten.mul.Tensor(%sub, %w)
  %cat : f32[2*s0, 2] requires_grad = aten.cat.default([%mul, %sub])
  return (%cat, %x)
}
)"),
            "1b0e6e9b3b6b635042849c781189bbd8");
}

TEST(WiringDigest, T1IsStableForWritesInPlace) {
  EXPECT_EQ(DigestOf(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[] = buffer "n", %x : f32[3]) {
  %add_ : f32[] = aten.add_.Tensor(%n, 1)
  %mul : f32[3] = aten.mul.Tensor(%x, %n)
  return (%mul)
}
)"),
            "47370fa1b33531853127ff8398ff817e");
}

// T-2: lifting keeps the digest, whatever holds the reference.
TEST(WiringDigest, T2LiftedIsUnlifted) {
  EXPECT_EQ(DigestOf(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%x : f32[]) {
  %n : f32[] = get_attr "n"
  %mul : f32[] = aten.mul.Tensor(%x, %n)
  return (%mul)
}
)"),
            DigestOf(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[] = buffer "n", %x : f32[]) {
  %mul : f32[] = aten.mul.Tensor(%x, %n)
  return (%mul)
}
)"));
}

std::string CondOver(std::string_view then, std::string_view operands,
                     std::string_view inputs, std::string_view head) {
  return DigestOf(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
in_spec ((*, *), {})
out_spec *
graph @main()" + std::string(head) +
                  R"(%p : bool[], %x : f32[]) {
)" +
                  std::string(operands.find("%n") != operands.npos &&
                                      head.empty()
                                  ? "  %n : f32[] = get_attr \"n\"\n"
                                  : "") +
                  R"(  %y : f32[] = higher_order.cond(%p, @then, @else, [)" +
                  std::string(operands) +
                  R"(]) single_return False
  return (%y)
}
graph @then()" + std::string(inputs) +
                  R"() {
)" + std::string(then) +
                  R"(  return (%t)
}
graph @else()" + std::string(inputs) +
                  R"() {
  %t : f32[] = aten.neg.default(%a)
  return (%t)
}
)");
}

TEST(WiringDigest, T2StateOfANestedGraphIsItsOperand) {
  const std::string inside = CondOver(
      "  %m : f32[] = get_attr \"n\"\n"
      "  %t : f32[] = aten.mul.Tensor(%a, %m)\n",
      "%x", "%a : f32[]", "");
  const std::string passed =
      CondOver("  %t : f32[] = aten.mul.Tensor(%a, %m)\n", "%x, %n",
               "%a : f32[], %m : f32[]", "");
  const std::string lifted =
      CondOver("  %t : f32[] = aten.mul.Tensor(%a, %m)\n", "%x, %n",
               "%a : f32[], %m : f32[]", "%n : f32[] = buffer \"n\", ");
  EXPECT_EQ(inside, passed);
  EXPECT_EQ(inside, lifted);
  EXPECT_NE(inside, CondOver("  %m : f32[] = get_attr \"n\"\n"
                             "  %t : f32[] = aten.mul.Tensor(%m, %a)\n",
                             "%x", "%a : f32[]", ""));
}

// M-1: a write in place is the mutation, declared or not; another value isn't.
TEST(WiringDigest, M1AWriteInPlaceIsItsDeclaration) {
  const auto program = [](std::string_view outputs) {
    return DigestOf(R"(tenon 1
storage @0 = 4 bytes hex"00000000"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[] = buffer "n", %x : f32[]) {
  %add_ : f32[] = aten.add_.Tensor(%n, 1)
  %mul : f32[] = aten.mul.Tensor(%x, %n)
  return ()" + std::string(outputs) +
                    R"(%mul)
}
)");
  };
  const std::string bare = program("");
  EXPECT_EQ(bare, program("%add_ as buffer_mutation \"n\", "));
  EXPECT_EQ(bare, program("%n as buffer_mutation \"n\", "));
  EXPECT_NE(bare, program("%mul as buffer_mutation \"n\", "));
}

}  // namespace
}  // namespace tenon
