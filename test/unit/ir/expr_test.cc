#include "ir/expr.h"

#include <gtest/gtest.h>

#include <random>

namespace tenon {
namespace {

class ExprTest : public testing::Test {
 protected:
  ExprTest() {
    for (const char* name : {"s0", "s1", "u2"}) {
      symbols_.push_back(pool_.Symbol(name, "integer=True"));
      scope_[name] = symbols_.back();
    }
  }

  ExprId Parse(std::string_view text) {
    std::string error;
    size_t at = 0;
    const auto e = pool_.Parse(text, &scope_, &error, &at);
    EXPECT_TRUE(e) << text << ": " << error << " at " << at;
    return e.value_or(ExprId());
  }

  ExprId Random(int depth) {
    if (depth == 0 || random_() % 4 == 0) {
      return random_() % 2 == 0
                 ? symbols_[random_() % symbols_.size()]
                 : pool_.Integer(static_cast<int64_t>(random_() % 9) - 4);
    }
    static constexpr std::string_view kNary[] = {"Add", "Mul", "Max", "Min"};
    static constexpr std::string_view kBinary[] = {
        "FloorDiv", "Mod", "PythonMod", "Pow", "Equality", "LessThan", "Where"};
    std::vector<ExprId> args = {Random(depth - 1), Random(depth - 1)};
    if (random_() % 2 == 0) {
      while (random_() % 3 == 0) args.push_back(Random(depth - 1));
      return pool_.Call(kNary[random_() % std::size(kNary)], args);
    }
    return pool_.Call(kBinary[random_() % std::size(kBinary)], args);
  }

  std::optional<int64_t> Evaluate(std::string_view text) {
    return pool_.EvaluateInt(Parse(text), [&](ExprId s) {
      return std::optional<int64_t>(s == symbols_[0] ? 7 : 3);
    });
  }

  StringPool strings_;
  ExprPool pool_{&strings_};
  SymbolScope scope_;
  std::vector<ExprId> symbols_;
  std::mt19937 random_{7};
};

TEST_F(ExprTest, BothNotationsParseBack) {
  for (int i = 0; i < 5000; ++i) {
    const ExprId e = Random(4);
    ASSERT_EQ(Parse(pool_.PrintInfix(e)), e) << pool_.PrintSrepr(e);
    ASSERT_EQ(Parse(pool_.PrintSrepr(e)), e) << pool_.PrintSrepr(e);
  }
}

TEST_F(ExprTest, ReadsSympysNotation) {
  EXPECT_EQ(Parse("Add(Mul(Integer(2), Symbol('s0', integer=True)), "
                  "Integer(1))"),
            Parse("2*s0 + 1"));
  EXPECT_EQ(pool_.PrintInfix(Parse("s0 - 2*s1 - 3")), "s0 - 2*s1 - 3");
}

TEST_F(ExprTest, EvaluatesLikePython) {
  EXPECT_EQ(Evaluate("2*s0 + 1"), 15);
  EXPECT_EQ(Evaluate("-s0 // 2"), -4);
  EXPECT_EQ(Evaluate("(-s0) % 4"), 1);
  EXPECT_EQ(Evaluate("Max(s0, s1, 10)"), 10);
  EXPECT_EQ(Evaluate("s0**2"), 49);
  EXPECT_EQ(Evaluate("ModularIndexing(s0, 2, 2)"), 1);
  EXPECT_EQ(Evaluate("s0 // 0"), std::nullopt);
  EXPECT_EQ(Evaluate("9223372036854775807*s0"), std::nullopt);
  EXPECT_EQ(Evaluate("mystery(s0)"), std::nullopt);
}

TEST_F(ExprTest, RefusesBadText) {
  for (const char* text : {"", "2 +", "(s0", "Integer(s0)", "s0 s1", "f(",
                           "99999999999999999999", "Rational(1, 0)", "*"}) {
    std::string error;
    size_t at = 0;
    EXPECT_FALSE(pool_.Parse(text, &scope_, &error, &at)) << text;
    EXPECT_FALSE(error.empty()) << text;
  }
  std::string deep(100000, '(');
  std::string error;
  size_t at = 0;
  EXPECT_FALSE(pool_.Parse(deep, &scope_, &error, &at));
  deep.assign(100000, '-');
  EXPECT_FALSE(pool_.Parse(deep, &scope_, &error, &at));
  std::string nots;
  for (int i = 0; i < 3000000; ++i) nots += "not ";
  EXPECT_FALSE(pool_.Parse(nots + "s0", &scope_, &error, &at));
}

TEST_F(ExprTest, CollectsSymbolsOnce) {
  std::vector<ExprId> found;
  pool_.CollectSymbols(Parse("s1*s0 + s1"), &found);
  EXPECT_EQ(found, (std::vector<ExprId>{symbols_[1], symbols_[0]}));
}

// What is written is evaluated by Python: a name must not end its quotes.
TEST_F(ExprTest, ASymbolsNameHoldsNothingThatEndsItsQuotes) {
  EXPECT_EQ(pool_.PrintSrepr(Parse("Symbol('odd name')")),
            "Symbol('odd name')");
  for (const char* text : {R"(Symbol("a'), exit('"))", R"(Symbol('a"b'))",
                           R"(Symbol('a\'))", "Symbol('a\nb')"}) {
    std::string error;
    size_t at = 0;
    EXPECT_FALSE(pool_.Parse(text, &scope_, &error, &at)) << text;
    EXPECT_NE(error.find("symbol's name"), std::string::npos) << error;
  }
}

TEST_F(ExprTest, WordsBetweenExpressionsAreNoNames) {
  EXPECT_EQ(Parse("not(s0 < 2)"), Parse("~(s0 < 2)"));
  for (const char* text : {"s0 % not(s1)", "not", "2*or(s0)", "s0 + and"}) {
    std::string error;
    size_t at = 0;
    EXPECT_FALSE(pool_.Parse(text, &scope_, &error, &at)) << text;
  }
}

}  // namespace
}  // namespace tenon
