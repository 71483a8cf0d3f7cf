#include "analysis/guards.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tenon {
namespace {

// forward(x, pair, *, d): leaves x, pair.0, pair.1, d.u
Program TakesPairs() {
  Program program(std::make_shared<Context>());
  program.in_spec = TreeSpec::Tuple(
      {TreeSpec::Tuple({TreeSpec::Leaf(),
                        TreeSpec::Tuple({TreeSpec::Leaf(), TreeSpec::Leaf()})}),
       TreeSpec::Dict({"d"}, {TreeSpec::Dict({"u"}, {TreeSpec::Leaf()})})});
  program.forward_arg_names = {"x", "pair", "d"};
  return program;
}

// Size d of leaf i is 10*i + d + 1; scalars are 7.
std::optional<int64_t> Resolve(uint32_t leaf, Guard::Property property,
                               uint32_t dim) {
  if (property == Guard::Property::kValue) return 7;
  if (property != Guard::Property::kSize || dim > 5) return std::nullopt;
  return 10 * int64_t{leaf} + dim + 1;
}

std::optional<bool> Holds(std::string_view text) {
  std::string error;
  const auto guard = Guard::Parse(TakesPairs(), text, &error);
  EXPECT_TRUE(guard) << text << ": " << error;
  return guard ? guard->Holds(Resolve) : std::nullopt;
}

TEST(Guard, ComparesExpressionsOfSizes) {
  EXPECT_EQ(Holds("L['x'].size()[0] == 1"), true);
  EXPECT_EQ(Holds("3*L['x'].size()[1] <= 5"), false);
  EXPECT_EQ(Holds("L['pair'][1].size()[0] == 21"), true);
  EXPECT_EQ(Holds("L['d']['u'].size()[2] == 33"), true);
  EXPECT_EQ(Holds("L[\"x\"].shape[0] != 2"), true);
  EXPECT_EQ(Holds("L['x'] >= 2"), true);
  EXPECT_EQ(Holds("(L['pair'][0].size()[0] % 5) == 1"), true);
  EXPECT_EQ(Holds("(L['pair'][0].size()[0] // 5) == 2"), true);
  EXPECT_EQ(Holds("-L['x'].size()[0] // 2 == -1"), true) << "rounds down";
  EXPECT_EQ(Holds("-7 % 5 == 3"), true) << "the sign of the divisor";
  // Python: 3 % -2**63 is 3 - 2**63, and 3 // -2**63 is -1.
  const std::string least = "(-9223372036854775807 - 1)";
  EXPECT_EQ(Holds("3 % " + least + " == " + least + " + 3"), true);
  EXPECT_EQ(Holds("3 // " + least + " == -1"), true);
  EXPECT_EQ(Holds(least + " % 3 == 1"), true);
  EXPECT_EQ(Holds("1 <= L['x'].size()[0] < 2"), true) << "both";
  EXPECT_EQ(Holds("1 <= L['x'].size()[0] and 2 > 3"), false);
  EXPECT_EQ(Holds("(L['x'].size()[0] == (5*L['x'].size()[0]))"), false);
}

TEST(Guard, WhatCantBeComputedDoesntHold) {
  EXPECT_EQ(Holds("L['x'].size()[9] == 1"), std::nullopt);
  EXPECT_EQ(Holds("1 // (L['x'].size()[0] - 1) == 1"), std::nullopt);
  EXPECT_EQ(Holds("9223372036854775807 + L['x'] > 0"), std::nullopt);
}

TEST(Guard, R3WhatIsntAComparisonIsRefused) {
  for (const char* text :
       {"", "L['x']", "L['y'].size()[0] == 1", "L['x'].device.type == 'cpu'",
        "L['pair'] == 1", "L['pair'][2].size()[0] == 1", "2**3 == 8",
        "__import__('os').system('x') == 0", "L['x'].size()[0] == 1 or 1 == 1",
        "L['x'].size()[0] == 1 garbage", "99999999999999999999 == 1",
        "L['x'].size()[0] = 1", "((((((1 == 1"}) {
    std::string error;
    EXPECT_FALSE(Guard::Parse(TakesPairs(), text, &error)) << text;
    EXPECT_FALSE(error.empty());
  }
  const std::string deep = std::string(100000, '(') + "1 == 1";
  std::string error;
  EXPECT_FALSE(Guard::Parse(TakesPairs(), deep, &error));
}

TEST(Guard, K408SpecialSizesAreTheRangesBusiness) {
  const auto excludes = [](std::string_view text) {
    std::string error;
    return Guard::Parse(TakesPairs(), text, &error)->ExcludesSpecialSizes();
  };
  EXPECT_TRUE(excludes("(L['x'].size()[0] // 5) != 1"));
  EXPECT_TRUE(excludes("L['x'].size()[0] >= 2"));
  EXPECT_TRUE(excludes("L['x'].size()[0] > 1"));
  EXPECT_FALSE(excludes("L['x'].size()[0] >= 3"));
  EXPECT_FALSE(excludes("L['x'].size()[0] <= 2"));
  EXPECT_FALSE(excludes("L['x'].size()[0] == 1"));
}

}  // namespace
}  // namespace tenon
