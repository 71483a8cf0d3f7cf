// A wrong backend is found out, and so is the node.
#include "check_backends.h"

#include <gtest/gtest.h>

#include "export/export.h"
#include "text/text.h"
#include "wrong_backends.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kChain = R"(tenon 1
in_spec ((*, *), {})
out_spec *
graph @main(%x : f32[4], %y : f32[4]) {
  %exp : f32[4] = aten.exp.default(%x)
  %sub : f32[4] = aten.sub.Tensor(%exp, %y) #0
  %tanh : f32[4] = aten.tanh.default(%sub)
  %neg : f32[4] = aten.neg.default(%tanh)
  %mul : f32[4] = aten.mul.Tensor(%neg, %exp)
  return (%mul)
}
meta #0 { stack_trace: "  File \"model.py\", line 12, in forward\n    e - y" }
)";

Program Parse(std::string_view text) {
  Diagnostics diags;
  auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                              PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return std::move(*program);
}

Tensor Floats(std::initializer_list<float> values) {
  Tensor t =
      Tensor::Empty(DType::kFloat32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.mutable_data<float>());
  return t;
}

std::vector<RuntimeValue> TwoInputs() {
  return {Floats({0.5f, -1, 2, 0.25f}), Floats({1, 0.5f, -0.5f, 3})};
}

// What the check says of the program over a backend that `spoil` spoils.
CheckReport Check(std::string_view text, WrongBackend::Spoil spoil,
                  const std::vector<RuntimeValue>& inputs,
                  std::vector<std::string> deny = {}, double tolerance = 1) {
  const WrongBackend backend(std::move(spoil));
  Program program = Parse(text);
  ExportOptions exported;
  exported.backends.push_back({});
  exported.backends[0].backend = &backend;
  exported.backends[0].deny = std::move(deny);
  Diagnostics diags;
  EXPECT_TRUE(ExportProgram(&program, exported, diags)) << diags.ToString();
  CheckOptions options;
  options.tolerance = tolerance;
  options.find_backend = [&](std::string_view name) -> const Backend* {
    return name == "wrong" ? &backend : nullptr;
  };
  auto report =
      CheckBackends(std::make_shared<const Program>(std::move(program)), inputs,
                    options, diags);
  EXPECT_TRUE(report) << diags.ToString();
  return report ? std::move(*report) : CheckReport();
}

TEST(CheckBackends, ARightOneIsFine) {
  const CheckReport report = Check(
      kChain, [](Program*) {}, TwoInputs());
  EXPECT_TRUE(report.is_close());
  EXPECT_FALSE(report.first_wrong);
  EXPECT_EQ(CheckAsText(report),
            "region_0 (wrong): 5 nodes, identical\n"
            "output: identical\n");
}

TEST(CheckBackends, FindsANodeThatIsWrongAlone) {
  const CheckReport report = Check(
      kChain,
      [](Program* region) {
        WrongBackend::Replace(region, "aten.sub.Tensor", "aten.add.Tensor");
        WrongBackend::Replace(region, "aten.neg.default", "aten.abs.default");
      },
      TwoInputs());
  EXPECT_FALSE(report.is_close());
  ASSERT_TRUE(report.first_wrong);
  EXPECT_EQ(report.first_wrong->num_before, 0u);
  EXPECT_EQ(report.first_wrong->region, "region_0");
  EXPECT_NE(report.first_wrong->node.find("%sub"), std::string::npos);
  EXPECT_EQ(report.first_wrong->source_line, "model.py:12, in forward");
  EXPECT_TRUE(report.first_wrong->is_reproduced);
  // exp(x) - y against exp(x) + y: off by 2 * y, at most 6.
  EXPECT_FLOAT_EQ(report.first_wrong->difference.max_difference, 6);
  const std::string text = CheckAsText(report);
  EXPECT_NE(text.find("first node that differs: "), std::string::npos);
  EXPECT_NE(text.find("  aten.sub.Tensor(%exp, %y)\n  model.py:12, in forward\n"
                      "  differs by 6, "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(", alone\n"), std::string::npos);
}

// As a wrong fusion is: each node is right by itself.
TEST(CheckBackends, FindsNodesThatAreWrongTogether) {
  const CheckReport report = Check(
      kChain,
      [](Program* region) {
        if (WrongBackend::Has(*region, "aten.exp.default") &&
            WrongBackend::Has(*region, "aten.neg.default")) {
          WrongBackend::Replace(region, "aten.tanh.default",
                                "aten.sin.default");
        }
      },
      TwoInputs());
  ASSERT_TRUE(report.first_wrong);
  EXPECT_NE(report.first_wrong->node.find("%neg"), std::string::npos);
  EXPECT_EQ(report.first_wrong->num_before, 3u);
  EXPECT_NE(CheckAsText(report).find(
                "together with the 3 nodes before it; alone it is right"),
            std::string::npos);
}

// Regions get the reference's inputs: one mistake is one region's.
TEST(CheckBackends, BlamesTheRegionAndNotThoseBehindIt) {
  const CheckReport report = Check(
      kChain,
      [](Program* region) {
        WrongBackend::Replace(region, "aten.sub.Tensor", "aten.add.Tensor");
      },
      TwoInputs(), {"%tanh"});
  ASSERT_EQ(report.regions.size(), 2u);
  EXPECT_FALSE(report.is_close(report.regions[0].worst));
  EXPECT_TRUE(report.regions[1].worst.is_identical);
  // In a run of its own the mistake does reach the result.
  ASSERT_EQ(report.results.size(), 1u);
  EXPECT_FALSE(report.is_close(report.results[0].worst));
  ASSERT_TRUE(report.first_wrong);
  EXPECT_NE(report.first_wrong->node.find("%sub"), std::string::npos);
}

// Not the same each time: compiled again, everything is right.
TEST(CheckBackends, SaysWhenNoPartIsWrongAgain) {
  int num_compiled = 0;
  const CheckReport report = Check(
      kChain,
      [&](Program* region) {
        if (num_compiled++ > 0) return;
        WrongBackend::Replace(region, "aten.sub.Tensor", "aten.add.Tensor");
      },
      TwoInputs());
  EXPECT_FALSE(report.is_close());
  ASSERT_TRUE(report.first_wrong);
  EXPECT_FALSE(report.first_wrong->is_reproduced);
  EXPECT_NE(CheckAsText(report).find(
                "no part of region_0 that is compiled again differs"),
            std::string::npos);
}

TEST(CheckBackends, ToleranceIsTheCallers) {
  const auto spoil = [](Program* region) {
    WrongBackend::Replace(region, "aten.sub.Tensor", "aten.add.Tensor");
  };
  EXPECT_FALSE(Check(kChain, spoil, TwoInputs(), {}, 1).is_close());
  const CheckReport report = Check(kChain, spoil, TwoInputs(), {}, 1e9);
  EXPECT_TRUE(report.is_close());
  EXPECT_FALSE(report.first_wrong);
}

// The mistake is in what is written, not in what is returned.
TEST(CheckBackends, ComparesStateThatIsWritten) {
  constexpr std::string_view kCounter = R"(tenon 1
storage @0 = 4 bytes hex"0000803f"
buffer "n" : f32[] = @0
in_spec ((*,), {})
out_spec *
graph @main(%n : f32[] = buffer "n", %x : f32[4]) {
  %next : f32[] = aten.sub.Tensor(%n, 3.0)
  %exp : f32[4] = aten.exp.default(%x)
  return (%next as buffer_mutation "n", %exp)
}
)";
  const CheckReport report = Check(
      kCounter,
      [](Program* region) {
        WrongBackend::Replace(region, "aten.sub.Tensor", "aten.add.Tensor");
      },
      {Floats({1, 2, 3, 4})});
  EXPECT_FALSE(report.is_close());
  bool is_state_wrong = false, is_output_right = false;
  for (const CheckedValue& value : report.results) {
    if (value.what == "state n") is_state_wrong = !value.worst.is_close();
    if (value.what == "output") is_output_right = value.worst.is_identical;
  }
  EXPECT_TRUE(is_state_wrong);
  EXPECT_TRUE(is_output_right);
  ASSERT_TRUE(report.first_wrong);
  EXPECT_NE(report.first_wrong->node.find("%next"), std::string::npos);
}

TEST(CheckBackends, LeavesTheInputsAlone) {
  const std::vector<RuntimeValue> inputs = TwoInputs();
  Check(
      kChain, [](Program*) {}, inputs);
  EXPECT_TRUE(Compare(inputs[0], TwoInputs()[0]).is_identical);
  EXPECT_TRUE(Compare(inputs[1], TwoInputs()[1]).is_identical);
}

}  // namespace
}  // namespace tenon::tools
