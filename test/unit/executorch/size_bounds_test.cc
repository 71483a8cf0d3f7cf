// Largest values of expressions over bounded symbols.
#include "executorch/size_bounds.h"

#include "made.h"

namespace tenon::executorch {
namespace {

class SizeBoundsTest : public testing::Test {
 protected:
  SizeBoundsTest()
      : program_(Parse(R"(
symbol s0 (positive=True, integer=True) hint 4
symbol s1 (positive=True, integer=True) hint 4
range s0 in [2, 16]
range s1 in [3, oo]
graph @main(%x : f32[s0, s1]) {
  return (%x)
}
)")) {}

  std::optional<int64_t> Max(std::string_view text) {
    SymbolScope scope;
    for (const SymInt& s : program_.type(program_.root().inputs[0]).sizes) {
      scope[program_.context().exprs.PrintInfix(s.expr)] = s.expr;
    }
    std::string error;
    size_t at = 0;
    const auto expr = program_.context().exprs.Parse(text, &scope, &error, &at);
    EXPECT_TRUE(expr) << text << ": " << error;
    if (!expr) return std::nullopt;
    return SizeBounds(program_).Of(*expr).max;
  }

  Program program_;
};

TEST_F(SizeBoundsTest, R_4_SumsAndProductsOfBoundedSymbols) {
  EXPECT_EQ(Max("s0"), 16);
  EXPECT_EQ(Max("2*s0 + 1"), 33);
  EXPECT_EQ(Max("s0*s0"), 256);
  EXPECT_EQ(Max("10 - s0"), 8);
  EXPECT_EQ(Max("s0 // 3"), 5);
}

TEST_F(SizeBoundsTest, AnUnboundedSymbolIsFoundOut) {
  EXPECT_EQ(Max("s1"), std::nullopt);
  EXPECT_EQ(Max("s0*s1"), std::nullopt);
  EXPECT_EQ(Max("s0 - s1"), 13);
}

TEST_F(SizeBoundsTest, ABoundOfAWholeExpressionCounts) {
  const SymInt size = program_.type(program_.root().inputs[0]).sizes[1];
  SizeBounds bounds(program_);
  bounds.Limit(size.expr, 7);
  EXPECT_EQ(bounds.Max(size), 7);
}

}  // namespace
}  // namespace tenon::executorch
