// Several programs as one, by position (rules J-1, J-9, M-1, R-1).
#include "link/compose.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "link/declare_writes.h"
#include "link/join.h"
#include "link/lift.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

class ComposeTest : public testing::Test {
 protected:
  Program Parse(std::string_view text) {
    Diagnostics diags;
    auto program = ParseProgram(text, "test", context_, PayloadSource(), diags);
    EXPECT_TRUE(program) << diags.ToString();
    return program ? std::move(*program) : Program(context_);
  }

  // Composed and joined, as text; "" after a failure.
  std::string Joined(const CompositionPlan& plan) {
    auto whole = Compose(plan, diags_);
    if (!whole) return "";
    EXPECT_TRUE(Verify(*whole, VerifyOptions(), diags_)) << diags_.ToString();
    EXPECT_TRUE(JoinAll(&*whole, diags_)) << diags_.ToString();
    EXPECT_TRUE(Lift(&*whole, diags_)) << diags_.ToString();
    DeclareMutations(&*whole);
    EXPECT_TRUE(Verify(*whole, VerifyOptions(), diags_)) << diags_.ToString();
    PrintOptions options;
    options.metadata = false;
    return PrintProgram(*whole, options);
  }

  static bool Has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  std::shared_ptr<Context> context_ = std::make_shared<Context>();
  Diagnostics diags_;
};

constexpr char kCounter[] = R"(tenon 1
storage @0 = 4 bytes hex"0000803f"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[] = buffer "n", %x : f32[]) {
  %next : f32[] = aten.add.Tensor(%n, 1)
  %y : f32[] = aten.mul.Tensor(%x, %next)
  return (%next as buffer_mutation "n", %y)
}
)";

TEST_F(ComposeTest, J9StateOfPartsIsKeptApart) {
  const Program a = Parse(kCounter), b = Parse(kCounter);
  CompositionPlan plan;
  plan.parts = {&a, &b};
  plan.part_names = {"a", "b"};
  plan.calls = {{0, {{-1, 0}}}, {1, {{0, 0}}}};
  plan.outputs = {{1, 0}, {0, 0}};
  const std::string text = Joined(plan);
  EXPECT_TRUE(Has(text, "buffer \"n\"")) << text;
  EXPECT_TRUE(Has(text, "buffer \"n_1\"")) << text;
  EXPECT_TRUE(Has(text, "as buffer_mutation \"n\",")) << text;
  EXPECT_TRUE(Has(text, "as buffer_mutation \"n_1\",")) << text;
  EXPECT_TRUE(Has(diags_.ToString(), "[J-9]")) << diags_.ToString();
}

TEST_F(ComposeTest, J7APartCalledTwiceHasOneState) {
  const Program a = Parse(kCounter);
  CompositionPlan plan;
  plan.parts = {&a};
  plan.part_names = {"a"};
  plan.calls = {{0, {{-1, 0}}}, {0, {{0, 0}}}};
  plan.outputs = {{1, 0}};
  const std::string text = Joined(plan);
  EXPECT_FALSE(Has(text, "n_1")) << text;
  EXPECT_TRUE(Has(text, "out_spec *\n")) << text;
}

TEST_F(ComposeTest, J1WiresAreByPosition) {
  const Program sub = Parse(R"(tenon 1
in_spec ((*, *), {})
out_spec *
graph @main(%b : f32[], %a : f32[]) {
  %y : f32[] = aten.sub.Tensor(%b, %a)
  return (%y)
}
)");
  CompositionPlan plan;
  plan.parts = {&sub};
  plan.part_names = {"sub"};
  plan.calls = {{0, {{-1, 1}, {-1, 0}}}};
  plan.outputs = {{0, 0}};
  plan.input_names = {"a", "b"};
  const std::string text = Joined(plan);
  EXPECT_TRUE(Has(text, "@main(%a : f32[], %b : f32[])")) << text;
  EXPECT_TRUE(Has(text, "aten.sub.Tensor(%b, %a)")) << text;

  plan.calls = {{0, {{-1, 1}}}};
  EXPECT_EQ(Joined(plan), "");
  EXPECT_TRUE(Has(diags_.ToString(), "[J-1]")) << diags_.ToString();
  plan.calls = {{0, {{-1, 1}, {0, 0}}}};
  EXPECT_EQ(Joined(plan), "");
  plan.calls = {{7, {}}};
  EXPECT_EQ(Joined(plan), "");
}

TEST_F(ComposeTest, R1SymbolsAreWhatTheCallPasses) {
  const char* grow = R"(tenon 1
symbol s0 (positive=True, integer=True)
range s0 in [2, 9]
in_spec ((*,), {})
out_spec *
graph @main(%x : f32[s0]) {
  %y : f32[2*s0] = aten.cat.default([%x, %x])
  return (%y)
}
)";
  const Program a = Parse(grow);
  const Program b = Parse(R"(tenon 1
symbol s0 (positive=True, integer=True)
range s0 in [4, 40]
in_spec ((*,), {})
out_spec *
graph @main(%x : f32[s0]) {
  %y : f32[s0] = aten.relu.default(%x)
  return (%y)
}
)");
  CompositionPlan plan;
  plan.parts = {&a, &b};
  plan.part_names = {"a", "b"};
  plan.calls = {{0, {{-1, 0}}}, {1, {{0, 0}}}, {1, {{-1, 0}}}};
  plan.outputs = {{1, 0}, {2, 0}};
  const std::string text = Joined(plan);
  EXPECT_TRUE(Has(text, ": f32[2*s0] = aten.relu.default")) << text;
  EXPECT_TRUE(Has(text, ": f32[s0] = aten.relu.default")) << text;
  EXPECT_TRUE(Has(text, "range s0 in [4, 9]")) << text;
  EXPECT_TRUE(Has(text, "range (2*s0) in [4, 40]")) << text;
}

// What is returned unchanged isn't what the buffer becomes.
TEST_F(ComposeTest, M1TheOldValueStaysTheOldValue) {
  const Program a = Parse(R"(tenon 1
storage @0 = 4 bytes hex"0000803f"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[] = buffer "n", %x : f32[]) {
  %next : f32[] = aten.add.Tensor(%n, %x)
  return (%next as buffer_mutation "n", %n)
}
)");
  CompositionPlan plan;
  plan.parts = {&a};
  plan.part_names = {"a"};
  plan.calls = {{0, {{-1, 0}}}};
  plan.outputs = {{0, 0}};
  const std::string text = Joined(plan);
  const size_t clone = text.find("aten.clone.default(%n)");
  const size_t copy = text.find("aten.copy_.default(%n");
  ASSERT_NE(clone, std::string::npos) << text;
  ASSERT_NE(copy, std::string::npos) << text;
  EXPECT_LT(clone, copy);
}

}  // namespace
}  // namespace tenon
