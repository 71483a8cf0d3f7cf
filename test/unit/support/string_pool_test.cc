#include "support/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon {
namespace {

TEST(StringPool, FindsEachStringAgain) {
  StringPool pool;
  for (uint32_t i = 0; i < 10'000; ++i) {
    ASSERT_EQ(pool.Intern("name_" + std::to_string(i)).index, i);
  }
  for (uint32_t i = 0; i < 10'000; ++i) {
    const std::string name = "name_" + std::to_string(i);
    ASSERT_EQ(pool.Find(name).index, i);
    ASSERT_EQ(pool.Intern(name).index, i);
    ASSERT_EQ(pool.view(StringId(i)), name);
  }
  EXPECT_EQ(pool.size(), 10'000u);
  EXPECT_FALSE(pool.Find("name_10000").valid());
  EXPECT_FALSE(pool.Find("").valid());
}

TEST(StringPool, ReservingChangesNoString) {
  StringPool pool;
  const StringId a = pool.Intern("a");
  const char* text = pool.view(a).data();
  EXPECT_EQ(pool.Find("a"), a);
  EXPECT_EQ(pool.view(a).data(), text);
}

TEST(StringPool, ACopyHasTheSameIdsInItsOwnMemory) {
  StringPool pool;
  for (int i = 0; i < 1000; ++i) pool.Intern("name_" + std::to_string(i));
  StringPool copy(pool);
  EXPECT_EQ(copy.size(), pool.size());
  for (int i = 0; i < 1000; ++i) {
    const StringId id = pool.Find("name_" + std::to_string(i));
    ASSERT_EQ(copy.Find("name_" + std::to_string(i)), id);
    ASSERT_EQ(copy.view(id), pool.view(id));
    ASSERT_NE(copy.view(id).data(), pool.view(id).data());
  }
  const StringId added = copy.Intern("only here");
  EXPECT_EQ(added.index, 1000u);
  EXPECT_FALSE(pool.Find("only here").valid());
  EXPECT_EQ(pool.Intern("only there").index, 1000u);
  EXPECT_EQ(copy.view(added), "only here");
}

}  // namespace
}  // namespace tenon
