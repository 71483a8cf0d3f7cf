#include "conformance/ops/type_gaps.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace tenon {
namespace {

bool Read(const std::string& text, TypeGaps* gaps) {
  const std::string path = testing::TempDir() + "type_gaps.tsv";
  std::ofstream(path) << text;
  const bool ok = ReadTypeGaps(path, gaps);
  std::remove(path.c_str());
  return ok;
}

TEST(TypeGaps, AreReadLineByLine) {
  TypeGaps gaps;
  ASSERT_TRUE(
      Read("# why\n\naten.nonzero.default\t59\t0\tdata: values\n", &gaps));
  EXPECT_EQ(gaps.at("aten.nonzero.default").partial, 59);
  EXPECT_EQ(gaps.at("aten.nonzero.default").open, 0);
  EXPECT_EQ(gaps.at("aten.nonzero.default").reason, "data: values");
}

TEST(TypeGaps, EachLineHasFourParts) {
  TypeGaps gaps;
  EXPECT_FALSE(Read("aten.a.default\t1\t0\n", &gaps));
  EXPECT_FALSE(Read("aten.a.default\t1\t0\t\n", &gaps));
  EXPECT_FALSE(Read("aten.a.default\tone\t0\twhy\n", &gaps));
  EXPECT_FALSE(Read("aten.a.default\t1\t-1\twhy\n", &gaps));
  EXPECT_FALSE(
      Read("aten.b.default\t1\t0\twhy\n"
           "aten.b.default\t1\t0\twhy\n",
           &gaps));
}

TEST(TypeGaps, MoreAndLessThanListedBothDiffer) {
  const TypeGaps gaps = {{"aten.a.default", {2, 1, "why"}}};
  EXPECT_EQ(CompareGaps("aten.a.default", {5, 2, 1}, gaps), "");
  EXPECT_NE(CompareGaps("aten.a.default", {6, 1, 1}, gaps), "");
  EXPECT_NE(CompareGaps("aten.a.default", {5, 2, 2}, gaps), "");
  EXPECT_EQ(CompareGaps("aten.b.default", {5, 0, 0}, gaps), "");
  EXPECT_NE(CompareGaps("aten.b.default", {5, 1, 0}, gaps), "");
}

}  // namespace
}  // namespace tenon
