// What becomes of names, symbols, state and regions of several programs that
// are made one (J-1, J-4, J-9, R-1).
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "../../one_line.h"
#include "link/compose.h"
#include "link/join.h"
#include "link/lift.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {
namespace {

class WholeTest : public testing::Test {
 protected:
  Program Parse(std::string_view text) {
    Diagnostics diags;
    auto program = ParseProgram("tenon 1\n" + std::string(text), "test",
                                context_, PayloadSource(), diags);
    EXPECT_TRUE(program) << diags.ToString();
    return program ? std::move(*program) : Program(context_);
  }

  // The hybrid program as text, once it is found sound; "" after a failure.
  std::string Composed(const CompositionPlan& plan) {
    diags_ = Diagnostics();
    auto whole = Compose(plan, diags_);
    if (!whole) return "";
    EXPECT_TRUE(Verify(*whole, VerifyOptions(), diags_)) << diags_.ToString();
    return PrintOnOneLine(*whole);
  }

  // A failure of that rule.
  void ExpectError(const CompositionPlan& plan, std::string_view part) {
    EXPECT_EQ(Composed(plan), "");
    EXPECT_TRUE(Has(diags_.ToString(), part)) << part << diags_.ToString();
  }

  static bool Has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  static CompositionPlan PlanOf(std::vector<const Program*> parts) {
    CompositionPlan plan;
    plan.parts = std::move(parts);
    const char* names[] = {"a", "b", "c"};
    for (size_t i = 0; i < plan.parts.size(); ++i) {
      plan.part_names.emplace_back(names[i]);
    }
    return plan;
  }

  std::shared_ptr<Context> context_ = std::make_shared<Context>();
  Diagnostics diags_;
};

constexpr char kSub[] = R"(
graph @main(%p : f32[2], %q : f32[2]) {
  %y : f32[2] = aten.sub.Tensor(%p, %q)
  %z : f32[2] = aten.neg.default(%y)
  return (%y, %z)
}
)";

// --- wires ---

TEST_F(WholeTest, J1InputsWithoutANameGetOne) {
  const Program sub = Parse(kSub);
  CompositionPlan plan = PlanOf({&sub});
  plan.calls = {{0, {{-1, 2}, {-1, 0}}}, {0, {{0, 1}, {-1, 1}}}};
  plan.outputs = {{1, 1}};
  plan.input_names = {"first"};
  const std::string text = Composed(plan);
  EXPECT_TRUE(Has(text,
                  "@main(%first : f32[2], %in_1 : f32[2], "
                  "%in_2 : f32[2])"))
      << text;
  EXPECT_TRUE(Has(text, "(%in_2, %first)")) << text;
  EXPECT_TRUE(Has(text, "out_spec *\n")) << text;
  EXPECT_TRUE(Has(text, "in_spec ((*, *, *), {})\n")) << text;
}

TEST_F(WholeTest, J1AnInputMayGoStraightToAnOutput) {
  const Program sub = Parse(kSub);
  CompositionPlan plan = PlanOf({&sub});
  plan.calls = {{0, {{-1, 0}, {-1, 1}}}};
  plan.outputs = {{-1, 1}, {0, 0}};
  const std::string text = Composed(plan);
  EXPECT_TRUE(Has(text, "return (%in_1, %a)")) << text;
  EXPECT_TRUE(Has(text, "out_spec (*, *)\n")) << text;
}

TEST_F(WholeTest, J1AnInputThatNoCallTakesHasNoType) {
  const Program sub = Parse(kSub);
  CompositionPlan plan = PlanOf({&sub});
  plan.calls = {{0, {{-1, 0}, {-1, 0}}}};
  plan.outputs = {{0, 0}};
  plan.input_names = {"x", "idle"};
  ExpectError(plan, "no call takes this input");
  plan.input_names.clear();
  plan.outputs = {{0, 0}, {-1, 1}};
  ExpectError(plan, "[J-1]");
}

TEST_F(WholeTest, J4WiresNameResultsThatAreThere) {
  const Program sub = Parse(kSub);
  CompositionPlan plan = PlanOf({&sub});
  plan.outputs = {{0, 0}};
  plan.calls = {{0, {{-1, 0}, {-1, 0}}}, {0, {{0, 2}, {-1, 0}}}};
  ExpectError(plan, "[J-4]");  // a third result of the first call
  plan.calls = {{0, {{0, 0}, {-1, 0}}}};
  ExpectError(plan, "[J-4]");  // its own result
  plan.calls = {{0, {{-1, 0}, {-1, 0}}}};
  plan.outputs = {{1, 0}};
  ExpectError(plan, "[J-4]");  // a second call
  plan.outputs = {{0, 1}};
  EXPECT_NE(Composed(plan), "");
}

TEST_F(WholeTest, J1AnInputOfAnyNumberIsNotMade) {
  const Program sub = Parse(kSub);
  CompositionPlan plan = PlanOf({&sub});
  plan.calls = {{0, {{-1, 4'000'000'000u}, {-1, 0}}}};
  ExpectError(plan, "[J-1]");
  plan.calls = {{0, {{-1, 0}, {-1, 0}}}};
  plan.outputs = {{-1, 4'000'000'000u}};
  ExpectError(plan, "the plan names input");
  plan.outputs = {{-1, 100'000}};
  ExpectError(plan, "the plan names input 100000");
  plan.outputs = {{-1, 99'999}};
  ExpectError(plan, "no call takes this input");
}

TEST_F(WholeTest, APlanNamesPartsThatAreThere) {
  const Program sub = Parse(kSub);
  CompositionPlan plan = PlanOf({&sub});
  plan.calls = {{1, {{-1, 0}, {-1, 0}}}};
  ExpectError(plan, "a part that isn't there");
  plan.parts.clear();
  plan.calls.clear();
  ExpectError(plan, "a plan without parts");
}

TEST_F(WholeTest, J4PartsReturnNumbersAndText) {
  const Program part = Parse(R"(
graph @main(%p : f32[2]) {
  return (7, True, 0.5, "word", None, %p)
}
)");
  CompositionPlan plan = PlanOf({&part});
  plan.calls = {{0, {{-1, 0}}}};
  for (uint32_t i = 0; i < 6; ++i) plan.outputs.push_back({0, i});
  const std::string text = Composed(plan);
  EXPECT_TRUE(Has(text, ": int 7, ")) << text;
  EXPECT_TRUE(Has(text, ": bool True, ")) << text;
  EXPECT_TRUE(Has(text, ": float 0.5, ")) << text;
  EXPECT_TRUE(Has(text, ": str \"word\", ")) << text;
  EXPECT_TRUE(Has(text, ": None, ")) << text;
}

// --- symbols ---

// A size of its own in front, and what the caller passes behind.
constexpr char kRows[] = R"(
symbol s0 (positive=True, integer=True)
range s0 in [2, 9]
graph @main(%p : f32[s0, 3]) {
  %y : f32[s0] = aten.sum.dim_IntList(%p, [1])
  return (%y)
}
)";

TEST_F(WholeTest, R1InputsOfDifferentCallsHaveDifferentSizes) {
  const Program rows = Parse(kRows), again = Parse(kRows);
  CompositionPlan plan = PlanOf({&rows, &again});
  plan.calls = {{0, {{-1, 0}}}, {1, {{-1, 1}}}, {1, {{-1, 0}}}};
  plan.outputs = {{0, 0}, {1, 0}, {2, 0}};
  const std::string text = Composed(plan);
  EXPECT_TRUE(Has(text, "@main(%in_0 : f32[s0, 3], %in_1 : f32[s0_1, 3])"))
      << text;
  EXPECT_TRUE(Has(text, "range s0 in [2, 9]\n")) << text;
  EXPECT_TRUE(Has(text, "range s0_1 in [2, 9]\n")) << text;
  // Once for each type that it is called with.
  EXPECT_TRUE(Has(text, "graph @b(%p : f32[s0_1, 3])")) << text;
  EXPECT_TRUE(Has(text, "graph @b#2(%p : f32[s0, 3])") ||
              Has(text, "(%p : f32[s0, 3])"))
      << text;
}

TEST_F(WholeTest, R1ANumberInTheSymbolsPlace) {
  const Program rows = Parse(kRows);
  const auto of_size = [&](const std::string& n) {
    return Parse("graph @main(%p : f32[" + n + ", 3]) {\n  return (%p)\n}\n");
  };
  for (const int n : {1, 2, 5, 9, 10}) {
    const Program fixed = of_size(std::to_string(n));
    CompositionPlan plan = PlanOf({&fixed, &rows});
    plan.calls = {{0, {{-1, 0}}}, {1, {{0, 0}}}};
    plan.outputs = {{1, 0}};
    if (n < 2 || n > 9) {
      ExpectError(plan, "[V-SYM-01]");
      continue;
    }
    const std::string text = Composed(plan);
    EXPECT_TRUE(
        Has(text, "f32[" + std::to_string(n) + "] = aten.sum.dim_IntList"))
        << text;
    EXPECT_FALSE(Has(text, "s0")) << text;
  }
}

TEST_F(WholeTest, R1RangesThatExcludeEachOther) {
  const Program rows = Parse(kRows);
  for (const int low : {9, 10}) {
    const Program other = Parse("symbol s1 (integer=True)\nrange s1 in [" +
                                std::to_string(low) + R"(, 40]
graph @main(%p : f32[s1, 3]) {
  return (%p)
}
)");
    CompositionPlan plan = PlanOf({&rows, &other});
    plan.calls = {{0, {{-1, 0}}}, {1, {{-1, 0}}}};
    plan.outputs = {{0, 0}, {1, 0}};
    if (low == 10) {
      ExpectError(plan, "no size fits");
    } else {
      EXPECT_TRUE(Has(Composed(plan), "range s0 in [9, 9]\n"));
    }
  }
}

TEST_F(WholeTest, R1OpenEndsOfRangesStayOpen) {
  const Program rows = Parse(R"(
symbol s0 (integer=True)
range s0 in [2, oo]
graph @main(%p : f32[s0, 3]) {
  return (%p)
}
)");
  const Program other = Parse(R"(
symbol s1 (integer=True)
range s1 in [-oo, 40]
graph @main(%p : f32[s1, 3]) {
  return (%p)
}
)");
  CompositionPlan plan = PlanOf({&rows, &other});
  plan.calls = {{0, {{-1, 0}}}, {1, {{-1, 0}}}};
  plan.outputs = {{0, 0}, {1, 0}};
  EXPECT_TRUE(Has(Composed(plan), "range s0 in [2, 40]\n"));
  plan.calls = {{0, {{-1, 0}}}};
  plan.outputs = {{0, 0}};
  EXPECT_TRUE(Has(Composed(plan), "range s0 in [2, oo]\n"));
  plan.calls = {{1, {{-1, 0}}}};
  EXPECT_TRUE(Has(Composed(plan), "range s1 in [-oo, 40]\n"));
}

TEST_F(WholeTest, R1NumbersThatAreSymbolsAreTakenOver) {
  const Program part = Parse(R"(
symbol s0 (integer=True)
range s0 in [2, 9]
graph @main(%n : SymInt(s0), %p : f32[s0]) {
  %m : SymInt(s0 + 1) = _operator.add(%n, 1)
  return (%p, %m)
}
)");
  const Program next = Parse(R"(
symbol s0 (integer=True)
range s0 in [3, 10]
graph @main(%n : SymInt(s0)) {
  %m : SymInt(2*s0) = _operator.mul(%n, 2)
  return (%m)
}
)");
  CompositionPlan plan = PlanOf({&part, &next});
  plan.calls = {{0, {{-1, 0}, {-1, 1}}}, {1, {{0, 1}}}};
  plan.outputs = {{1, 0}, {0, 0}};
  const std::string text = Composed(plan);
  EXPECT_TRUE(Has(text, "= _operator.mul(")) << text;
  EXPECT_TRUE(Has(text, "range (s0 + 1) in [3, 10]\n") ||
              Has(text, "range (1 + s0) in [3, 10]\n"))
      << text;
}

TEST_F(WholeTest, R1NumbersOfDifferentInputsAreDifferentSymbols) {
  const Program part = Parse(R"(
symbol s0 (integer=True)
range s0 in [2, 9]
graph @main(%n : SymInt(s0)) {
  %m : SymInt(2*s0) = _operator.mul(%n, 2)
  return (%m)
}
)");
  CompositionPlan plan = PlanOf({&part});
  plan.calls = {{0, {{-1, 0}}}, {0, {{-1, 1}}}};
  plan.outputs = {{0, 0}, {1, 0}};
  const std::string text = Composed(plan);
  EXPECT_TRUE(Has(text, "@main(%in_0 : SymInt(s0), %in_1 : SymInt(s0_1))"))
      << text;
  EXPECT_TRUE(Has(text, ": SymInt(2*s0) = _operator.mul")) << text;
  EXPECT_TRUE(Has(text, ": SymInt(2*s0_1) = _operator.mul")) << text;
}

// Two counts of what isn't zero needn't be equal.
TEST_F(WholeTest, R1SymbolsThatPartsMakeStayTheirOwn) {
  const char* text = R"(
symbol u0 (integer=True)
range u0 in [0, 2]
graph @main(%p : f32[2]) {
  %i : i64[u0, 1] = aten.nonzero.default(%p)
  return (%i)
}
)";
  const Program first = Parse(text), second = Parse(text);
  CompositionPlan plan = PlanOf({&first, &second});
  plan.calls = {{0, {{-1, 0}}}, {1, {{-1, 1}}}};
  plan.outputs = {{0, 0}, {1, 0}};
  const std::string whole = Composed(plan);
  EXPECT_TRUE(Has(whole, "%i : i64[u0, 1] = aten.nonzero")) << whole;
  EXPECT_TRUE(Has(whole, "i64[u0_1, 1] = aten.nonzero")) << whole;
}

// --- state, regions, delegates ---

TEST_F(WholeTest, J9EntriesOfOneStorageStillShareIt) {
  const char* text = R"(
storage @0 = 8 bytes hex"0000000000000000"
storage @1 = 8 bytes hex"1111111111111111"
parameter "w" : f32[2] = @1
parameter "v" : f32[2] = @0
parameter "tied" : f32[2] = @1
graph @main(%w : f32[2] = parameter "w", %v : f32[2] = parameter "v",
            %t : f32[2] = parameter "tied", %x : f32[2]) {
  %a : f32[2] = aten.sub.Tensor(%w, %v)
  %b : f32[2] = aten.mul.Tensor(%a, %t)
  %c : f32[2] = aten.mul.Tensor(%b, %x)
  return (%c)
}
)";
  const Program first = Parse(text), second = Parse(text);
  CompositionPlan plan = PlanOf({&first, &second});
  plan.calls = {{0, {{-1, 0}}}, {1, {{0, 0}}}};
  plan.outputs = {{1, 0}};
  const std::string whole = Composed(plan);
  EXPECT_TRUE(Has(whole, "parameter \"tied\" : f32[2] = @1\n")) << whole;
  EXPECT_TRUE(Has(whole, "parameter \"w_1\" : f32[2] = @3\n")) << whole;
  EXPECT_TRUE(Has(whole, "parameter \"v_1\" : f32[2] = @2\n")) << whole;
  EXPECT_TRUE(Has(whole, "parameter \"tied_1\" : f32[2] = @3\n")) << whole;
  EXPECT_EQ(diags_.num_warnings(), 3u) << diags_.ToString();
}

constexpr char kRegion[] = R"(
symbol s0 (integer=True)
range s0 in [2, 9]
region 0 "r" backend "cpu"
delegate @r backend "cpu" source @r_source
  inputs (f32[s0])
  outputs (f32[s0])
graph @main(%p : f32[s0]) {
  %q : f32[s0] = aten.neg.default(%p)
  %y : f32[s0] = delegate @r(%q) region 0
  return (%y)
}
graph @r_source(%a : f32[s0]) {
  %t : f32[s0] = aten.neg.default(%a)
  return (%t)
}
)";

TEST_F(WholeTest, RegionsAndDelegatesStayApart) {
  const Program first = Parse(kRegion), second = Parse(kRegion);
  const Program fixed = Parse(R"(
graph @main(%p : f32[4]) {
  return (%p)
}
)");
  CompositionPlan plan = PlanOf({&first, &second, &fixed});
  plan.calls = {{0, {{-1, 0}}}, {2, {{-1, 1}}}, {1, {{1, 0}}}};
  plan.outputs = {{0, 0}, {2, 0}};
  const std::string text = Composed(plan);
  EXPECT_TRUE(Has(text, "region 0 \"r\" backend \"cpu\"\n")) << text;
  EXPECT_TRUE(Has(text, "region 1 \"r\" backend \"cpu\"\n")) << text;
  EXPECT_TRUE(Has(text, "inputs (f32[s0])\n")) << text;
  EXPECT_TRUE(Has(text, "inputs (f32[4])\n")) << text;
  EXPECT_TRUE(Has(text, "delegate @r(%q) region 0")) << text;
  EXPECT_TRUE(Has(text, "delegate @\"r#1\"(%q") || Has(text, "\"r#1\""))
      << text;
  EXPECT_TRUE(Has(text, ") region 1")) << text;
}

TEST_F(WholeTest, R1GuardsOfAPartAreToldToBeLeftOut) {
  Program sub = Parse(kSub);
  sub.file.guards_code = {"L['p'].size()[0] == 2"};
  CompositionPlan plan = PlanOf({&sub});
  plan.calls = {{0, {{-1, 0}, {-1, 1}}}};
  plan.outputs = {{0, 0}};
  EXPECT_NE(Composed(plan), "");
  EXPECT_TRUE(Has(diags_.ToString(), "[W-GUARD-01]")) << diags_.ToString();
}

}  // namespace
}  // namespace tenon
