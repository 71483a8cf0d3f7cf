// Writes in place and what declares them, case by case (D-4, L-6, M-1).
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../../one_line.h"
#include "build.h"
#include "link/declare_writes.h"
#include "link/in_place.h"
#include "programs.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

// The text of a program that is sound.
std::string Sound(const Program& program) {
  Diagnostics diags;
  EXPECT_TRUE(Verify(program, VerifyOptions(), diags)) << diags.ToString();
  return PrintOnOneLine(program);
}

size_t Count(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// --- delegates ---

std::string Declared(std::string_view text) {
  Program program = Parse(text);
  DeclareDelegateWrites(&program);
  return Sound(program);
}

TEST(DeclareDelegateWrites, D4AnOutputThatIsTheWrittenInputIsUsed) {
  const std::string text = Declared(R"(tenon 1
region 0 "r" backend "cpu"
delegate @r backend "cpu" source @r_source
  inputs (f32[2], f32[2])
  outputs (f32[2], f32[2])
graph @main(%x : f32[2], %c : f32[2]) {
  %y : f32[2], %z : f32[2] = delegate @r(%x, %c) region 0
  return (%y, %z)
}
graph @r_source(%a : f32[2], %b : f32[2]) {
  %s : f32[2] = aten.neg.default(%a)
  %w : f32[2] = aten.add_.Tensor(%b, %a)
  return (%s, %w)
}
)");
  EXPECT_TRUE(Has(text, "write input 1 output 1\n")) << text;
  EXPECT_EQ(Count(text, "write input"), 1u) << text;
  EXPECT_TRUE(Has(text, "outputs (f32[2], f32[2])\n")) << text;
  EXPECT_TRUE(Has(text, "return (%s, %w)")) << text;
}

// A view of the written input isn't the input, and neither is a computed value.
TEST(DeclareDelegateWrites, D4OutputsAreAppendedWhereNoneIsTheInput) {
  const std::string text = Declared(R"(tenon 1
region 0 "r" backend "cpu"
delegate @r backend "cpu" source @r_source
  inputs (f32[2], f32[2, 1], f32[3]) names ["x", "c", "d"]
  outputs (f32[1, 2], f32[2]) names ["first", "second"]
delegate @opaque backend "cpu"
  inputs (f32[2])
  outputs (f32[2])
graph @main(%x : f32[2], %c : f32[2, 1], %d : f32[3]) {
  %y : f32[1, 2], %z : f32[2] = delegate @r(%x, %c, %d) name "early" region 0
  %u : f32[2] = delegate @opaque(%z)
  %y2 : f32[1, 2], %z2 : f32[2] = delegate @r(%u, %c, %d)
  return (%y, %y2, %z2)
}
graph @r_source(%a : f32[2], %b : f32[2, 1], %e : f32[3]) {
  %s : f32[2] = aten.neg.default(%a)
  %w : f32[2, 1] = aten.mul_.Scalar(%b, 2)
  %w2 : f32[2, 1] = aten.mul_.Scalar(%w, 2)
  %v : f32[1, 2] strides [1, 1] = aten.t.default(%w2)
  %k : f32[3] = aten.mul_.Scalar(%e, 3)
  return (%v, %s)
}
)");
  EXPECT_TRUE(Has(text, "write input 1 output 2\n")) << text;
  EXPECT_TRUE(Has(text, "write input 2 output 3\n")) << text;
  EXPECT_TRUE(Has(text,
                  "outputs (f32[1, 2], f32[2], f32[2, 1], f32[3]) names "
                  "[\"first\", \"second\", \"w2\", \"k\"]\n"))
      << text;
  EXPECT_TRUE(Has(text, "return (%v, %s, %w2, %k)")) << text;
  // Each call of the delegate grows, with its name and region, others don't.
  EXPECT_EQ(Count(text, ": f32[3] = delegate @r("), 2u) << text;
  EXPECT_TRUE(Has(text, "%u : f32[2] = delegate @opaque(%z)")) << text;
  EXPECT_EQ(Count(text, "name \"early\""), 1u) << text;
  EXPECT_EQ(Count(text, "region 0"), 2u) << text;
  EXPECT_TRUE(Has(text, "return (%y, %y2, %z2)")) << text;
}

TEST(DeclareDelegateWrites, D4WhatIsDeclaredStaysAsItIs) {
  constexpr char kText[] = R"(tenon 1
region 0 "r" backend "cpu"
delegate @r backend "cpu" source @r_source
  inputs (f32[2], f32[2])
  outputs (f32[2], f32[2])
  write input 0 output 0 kv_cache_update
graph @main(%x : f32[2], %c : f32[2]) {
  %y : f32[2], %z : f32[2] = delegate @r(%x, %c) region 0
  return (%y, %z)
}
graph @r_source(%a : f32[2], %b : f32[2]) {
  %v : f32[2] = aten.mul_.Scalar(%a, 2)
  %w : f32[2] = aten.add_.Tensor(%b, %v)
  return (%v, %w)
}
)";
  const std::string text = Declared(kText);
  EXPECT_TRUE(Has(text, "write input 0 output 0 kv_cache_update\n")) << text;
  EXPECT_TRUE(Has(text, "write input 1 output 1\n")) << text;
  EXPECT_EQ(Count(text, "write input"), 2u) << text;
  EXPECT_EQ(Declared(text), text);
}

// --- the signature ---

std::string Mutations(std::string_view graph) {
  Program program = Parse(std::string(R"(tenon 1
storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 8 bytes hex"0000000000000000"
storage @2 = 8 bytes hex"0000000000000000"
parameter "w" : f32[2] = @0
buffer "n" : f32[2] = @1
buffer "m" : f32[2] = @2
)") + std::string(graph));
  DeclareMutations(&program);
  return Sound(program);
}

TEST(DeclareMutations, L6EachKindOfTargetHasItsKindOfOutput) {
  const std::string text = Mutations(R"(
graph @main(%w : f32[2] = parameter "w", %n : f32[2] = buffer "n",
            %m : f32[2] = buffer "m", %x : f32[2], %z : f32[2]) {
  %w1 : f32[2] = aten.mul_.Scalar(%w, 2)
  %m1 : f32[2] = aten.add_.Tensor(%m, %n)
  %z1 : f32[2] = aten.add_.Tensor(%z, %x)
  return (%x)
}
)");
  EXPECT_TRUE(Has(text,
                  "return (%w1 as parameter_mutation \"w\", "
                  "%m1 as buffer_mutation \"m\", "
                  "%z1 as user_input_mutation %z, %x)"))
      << text;
}

TEST(DeclareMutations, L6OneThatIsDeclaredDoesNotStandForAnother) {
  const std::string text = Mutations(R"(
graph @main(%n : f32[2] = buffer "n", %m : f32[2] = buffer "m", %x : f32[2],
            %z : f32[2]) {
  %n1 : f32[2] = aten.mul_.Scalar(%n, 2)
  %m1 : f32[2] = aten.mul_.Scalar(%m, 2)
  %x1 : f32[2] = aten.mul_.Scalar(%x, 2)
  %z1 : f32[2] = aten.mul_.Scalar(%z, 2)
  return (%m1 as buffer_mutation "m", %x1 as user_input_mutation %x, %n1)
}
)");
  EXPECT_TRUE(Has(text,
                  "return (%n1 as buffer_mutation \"n\", "
                  "%z1 as user_input_mutation %z, "
                  "%m1 as buffer_mutation \"m\", "
                  "%x1 as user_input_mutation %x, %n1)"))
      << text;
}

// The order of the list counts, not the one in which nodes were made.
TEST(DeclareMutations, L6TheLastWriteIsTheLastOfTheList) {
  Build b;
  const ValueId x = b.Input(Program::kRoot, "x");
  const ValueId last = b.Op(Program::kRoot, "aten.add_.Tensor", {x, x}, "last");
  const ValueId first =
      b.Op(Program::kRoot, "aten.add_.Tensor", {x, x}, "first");
  b.Return(Program::kRoot, {x});
  const NodeId n = b.program.value(last).def;
  b.program.Unlink(Program::kRoot, n);
  b.program.Append(Program::kRoot, n);
  DeclareMutations(&b.program);
  EXPECT_EQ(b.program.outputs(Program::kRoot)[0].value(), last);
  EXPECT_NE(b.program.outputs(Program::kRoot)[0].value(), first);
}

TEST(DeclareMutations, M1WhatWritesNothingGetsNoOutput) {
  const std::string text = Mutations(R"(
graph @main(%n : f32[2] = buffer "n", %x : f32[2]) {
  %a : f32[2], %i : i64[2] = aten.sort.default(%x)
  %i1 : i64[2] = aten.mul_.Scalar(%i, 2)
  %b : f32[2] = aten.mul_.Tensor(%a, %n)
  return (%b)
}
)");
  EXPECT_TRUE(Has(text, "return (%b)")) << text;
}

// Writers of which each stands alone in its graph.
TEST(DeclareMutations, M1BatchNormWritesItsStatistics) {
  Program program = Parse(R"(tenon 1
storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 8 bytes hex"0000000000000000"
buffer "mean" : f32[2] = @0
buffer "var" : f32[2] = @1
graph @main(%mean : f32[2] = buffer "mean", %var : f32[2] = buffer "var",
            %x : f32[3, 2]) {
  %y : f32[3, 2], %a : f32[2], %b : f32[2] =
    aten.native_batch_norm.default(%x, None, None, %mean, %var, True, 0.1, 1.0)
  return (%y)
}
)");
  DeclareMutations(&program);
  const std::string text = Sound(program);
  EXPECT_TRUE(Has(text,
                  "return (%mean as buffer_mutation \"mean\", "
                  "%var as buffer_mutation \"var\", %y)"))
      << text;
}

TEST(DeclareMutations, M1BranchesChildrenAndDelegatesWrite) {
  const std::string branch = Mutations(R"(
graph @main(%n : f32[2] = buffer "n", %p : bool[], %x : f32[2]) {
  %y : f32[2] = higher_order.cond(%p, @yes, @no, [%n, %x]) single_return False
  return (%y)
}
graph @yes(%a : f32[2], %b : f32[2]) {
  %c : f32[2] = aten.add_.Tensor(%a, %b)
  %d : f32[2] = aten.neg.default(%c)
  return (%d)
}
graph @no(%a : f32[2], %b : f32[2]) {
  %d : f32[2] = aten.neg.default(%b)
  return (%d)
}
)");
  EXPECT_TRUE(Has(branch, "return (%n as buffer_mutation \"n\", %y)"))
      << branch;
  const std::string child = Mutations(R"(
graph @main(%n : f32[2] = buffer "n", %x : f32[2]) {
  %y : f32[2] = call @child(%n, %x)
  return (%y)
}
graph @child(%a : f32[2], %b : f32[2]) {
  %c : f32[2] = aten.add_.Tensor(%a, %b)
  %d : f32[2] = aten.neg.default(%c)
  return (%d)
}
)");
  EXPECT_TRUE(Has(child, "return (%n as buffer_mutation \"n\", %y)")) << child;
  const std::string delegate = Mutations(R"(
delegate @r backend "cpu"
  inputs (f32[2], f32[2])
  outputs (f32[2], f32[2])
  write input 0 output 1
graph @main(%n : f32[2] = buffer "n", %x : f32[2]) {
  %y : f32[2], %z : f32[2] = delegate @r(%n, %x)
  return (%y)
}
)");
  EXPECT_TRUE(Has(delegate, "return (%z as buffer_mutation \"n\", %y)"))
      << delegate;
}

// --- and back: mutations as writes ---

std::string InPlace(std::string_view graph) {
  Program program = Parse(std::string(R"(tenon 1
storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 8 bytes hex"0000000000000000"
parameter "n" : f32[2] = @0
buffer "m" : f32[2] = @1
)") + std::string(graph));
  WriteMutationsInPlace(&program);
  return Sound(program);
}

// Operators of the first graph, in order: "clone copy_".
std::string Operators(const std::string& text) {
  std::string out;
  for (size_t at = text.find("aten."); at != std::string::npos;
       at = text.find("aten.", at + 1)) {
    if (!out.empty()) out += ' ';
    out += text.substr(at + 5, text.find('.', at + 5) - at - 5);
  }
  return out;
}

TEST(WriteMutationsInPlace, M1WithoutMutationsNothingChanges) {
  constexpr std::string_view kGraph = R"(
graph @main(%m : f32[2] = buffer "m", %x : f32[2]) {
  %y : f32[2] = aten.add.Tensor(%m, %x)
  return (%y, %m)
}
)";
  const std::string text = InPlace(kGraph);
  EXPECT_EQ(Operators(text), "add") << text;
  EXPECT_TRUE(Has(text, "return (%y, %m)")) << text;
}

TEST(WriteMutationsInPlace, M1WhatIsWrittenInPlaceAlreadyIsNotCopied) {
  const std::string text = InPlace(R"(
graph @main(%m : f32[2] = buffer "m", %x : f32[2]) {
  %m1 : f32[2] = aten.add_.Tensor(%m, %x)
  %y : f32[2] = aten.neg.default(%m1)
  return (%m1 as buffer_mutation "m", %y, 7)
}
)");
  EXPECT_EQ(Operators(text), "add_ neg") << text;
  EXPECT_TRUE(Has(text, "return (%y, 7)")) << text;
}

// Each becomes what the other was.
TEST(WriteMutationsInPlace, M1TwoStatesThatAreSwapped) {
  const std::string text = InPlace(R"(
graph @main(%n : f32[2] = parameter "n", %m : f32[2] = buffer "m", %x : f32[2]) {
  return (%m as parameter_mutation "n", %n as buffer_mutation "m", %x)
}
)");
  EXPECT_EQ(Operators(text), "clone clone copy_ copy_") << text;
  EXPECT_TRUE(Has(text, "aten.clone.default(%m)")) << text;
  EXPECT_TRUE(Has(text, "aten.clone.default(%n)")) << text;
  EXPECT_TRUE(Has(text, "aten.copy_.default(%n, ")) << text;
  EXPECT_TRUE(Has(text, "aten.copy_.default(%m, ")) << text;
  EXPECT_TRUE(Has(text, "return (%x)")) << text;
}

// A target whose storage the value shares, but in another geometry.
TEST(WriteMutationsInPlace, M1AValueThatIsAViewOfItsTarget) {
  const std::string text = InPlace(R"(
graph @main(%m : f32[2] = buffer "m", %z : f32[2]) {
  %v : f32[2] = aten.flip.default(%z, [0])
  %s : f32[2] strides [0] = aten.as_strided.default(%m, [2], [0])
  return (%s as buffer_mutation "m", %v as user_input_mutation %z)
}
)");
  EXPECT_EQ(Operators(text), "flip as_strided clone copy_ copy_") << text;
  EXPECT_TRUE(Has(text, "aten.clone.default(%s)")) << text;
  EXPECT_TRUE(Has(text, "aten.copy_.default(%z, %v)")) << text;
  EXPECT_TRUE(Has(text, "return ()")) << text;
}

// What is returned keeps the value that it had; others aren't copied.
TEST(WriteMutationsInPlace, M1OutputsKeepTheirValue) {
  const std::string text = InPlace(R"(
graph @main(%n : f32[2] = parameter "n", %m : f32[2] = buffer "m",
            %x : f32[2], %z : f32[2]) {
  %a : f32[2] = aten.add.Tensor(%m, %x)
  %b : f32[2] = aten.add.Tensor(%z, %x)
  return (%a as buffer_mutation "m", %b as user_input_mutation %z, %m, %a, %x,
          %n, None)
}
)");
  EXPECT_EQ(Operators(text), "add add clone copy_ copy_") << text;
  EXPECT_TRUE(Has(text, "aten.clone.default(%m)")) << text;
  EXPECT_TRUE(Has(text, "aten.copy_.default(%m, %a)")) << text;
  EXPECT_TRUE(Has(text, "aten.copy_.default(%z, %b)")) << text;
  EXPECT_TRUE(Has(text, ", %a, %x, %n, None)")) << text;
}

}  // namespace
}  // namespace tenon
