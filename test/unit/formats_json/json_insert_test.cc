#include "formats/json/json_insert.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(JsonInsert, PutsMembersAtTheEndOfTheirRecords) {
  const std::vector<JsonInsertion> insertions = {
      {"$.a[1]", "x", "[1, 2.5]"}, {"$", "y", "null"}, {"$", "z", "\"t\""}};
  std::vector<bool> is_done;
  EXPECT_EQ(
      InsertJsonMembers("{\"a\": [{}, {\"b\": 3}]}", insertions, &is_done),
      "{\"a\": [{}, {\"b\": 3, \"x\": [1, 2.5]}], \"y\": null, "
      "\"z\": \"t\"}");
  EXPECT_EQ(is_done, (std::vector<bool>{true, true, true}));
}

TEST(JsonInsert, SaysWhatHasNoPlace) {
  const std::vector<JsonInsertion> insertions = {
      {"$.b", "x", "1"},  // no such record
      {"$.a", "x", "1"},  // a list
      {"$", "a", "1"},    // a member that is there
      {"$", "x", "not JSON"},
  };
  std::vector<bool> is_done;
  EXPECT_EQ(InsertJsonMembers("{\"a\": [0]}", insertions, &is_done),
            "{\"a\": [0]}");
  EXPECT_EQ(is_done, (std::vector<bool>(4, false)));
}

TEST(JsonInsert, LeavesAloneWhatIsNoJson) {
  const std::vector<JsonInsertion> insertions = {{"$", "x", "1"}};
  std::vector<bool> is_done;
  EXPECT_EQ(InsertJsonMembers("{", insertions, &is_done), "{");
  EXPECT_EQ(is_done, (std::vector<bool>{false}));
}

}  // namespace
}  // namespace tenon
