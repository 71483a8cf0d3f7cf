#include "formats/zip/zip_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon {
namespace {

TEST(ZipNames, FindsEachNameAndNoOther) {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) {
    names.push_back("data/weights/weight_" + std::to_string(i));
  }
  ZipNames table;
  EXPECT_EQ(table.Find("data"), ZipNames::kNone);
  for (const std::string& name : names) ASSERT_TRUE(table.Add(name));
  for (uint32_t i = 0; i < names.size(); ++i) {
    ASSERT_EQ(table.Find(names[i]), i);
  }
  EXPECT_EQ(table.Find("data/weights/weight_5000"), ZipNames::kNone);
  EXPECT_EQ(table.Find(""), ZipNames::kNone);
}

TEST(ZipNames, KnowsDoubledNames) {
  ZipNames table;
  EXPECT_TRUE(table.Add("a"));
  EXPECT_TRUE(table.Add(""));
  EXPECT_FALSE(table.Add("a"));
  EXPECT_EQ(table.Find("a"), 0u);
  EXPECT_EQ(table.Find(""), 1u);
}

}  // namespace
}  // namespace tenon
