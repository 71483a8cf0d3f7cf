#include "diag/limits.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace tenon {
namespace {

TEST(Limits, AreSetByName) {
  for (const LimitInfo& limit : AllLimits()) {
    ReadLimits limits;
    std::string error;
    EXPECT_EQ(limits.*limit.field, limit.value) << limit.name;
    const std::string name(limit.name);
    EXPECT_TRUE(SetLimit(name + "=1", &limits, &error)) << error;
    EXPECT_EQ(limits.*limit.field, 1u);
    const std::string highest = std::to_string(limit.highest);
    EXPECT_TRUE(SetLimit(name + "=" + highest, &limits, &error)) << error;
    EXPECT_EQ(limits.*limit.field, limit.highest);
    for (const std::string& bad :
         {name, name + "=", name + "=0", name + "=-1", name + "=1x",
          name + "=" + std::to_string(limit.highest + 1),
          name + "=99999999999999999999"}) {
      error.clear();
      EXPECT_FALSE(SetLimit(bad, &limits, &error)) << bad;
      EXPECT_NE(error.find(name), std::string::npos) << error;
      EXPECT_EQ(limits.*limit.field, limit.highest) << bad;
    }
  }
}

TEST(Limits, ThatNobodyKnowsAreAnErrorThatListsThem) {
  ReadLimits limits;
  std::string error;
  EXPECT_FALSE(SetLimit("membres=1", &limits, &error));
  EXPECT_NE(error.find("members, name-bytes"), std::string::npos) << error;
}

TEST(Limits, AreDocumentedAsTheyAre) {
  std::ifstream in("docs/limits.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const LimitInfo& limit : AllLimits()) {
    const std::string row =
        "| `" + std::string(limit.name) + "` | " + std::to_string(limit.value) +
        " | " + std::to_string(limit.highest) + " | " +
        std::string(limit.what) + " | " + std::string(limit.reason) + " |\n";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

TEST(Limits, AreNamedInMessages) {
  ReadLimits limits;
  limits.max_members = 7;
  EXPECT_EQ(BeyondLimit(limits, &ReadLimits::max_members),
            "beyond the limit members=7 (--read-limit)");
}

}  // namespace
}  // namespace tenon
