#include "ir/leaf_names.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

using Names = std::vector<std::string>;

TreeSpec Cache() {
  TreeSpec spec;
  spec.is_leaf = false;
  spec.type = "pkg.Cache";
  spec.context = "[\"keys\", \"values\"]";
  spec.children = {TreeSpec::List({TreeSpec::Leaf(), TreeSpec::Leaf()}),
                   TreeSpec::List({TreeSpec::Leaf()})};
  return spec;
}

TEST(LeafNames, FieldsIndicesAndKeys) {
  const TreeSpec in = TreeSpec::Tuple(
      {TreeSpec::Tuple({TreeSpec::Leaf(), TreeSpec::Dict({"a b"}, {Cache()}),
                        TreeSpec::Tuple({TreeSpec::Leaf()})}),
       TreeSpec::Dict({"past"}, {Cache()})});
  EXPECT_EQ(CallLeafNames(in, {"x", "table"}),
            (Names{"x", "table[\"a b\"].keys[0]", "table[\"a b\"].keys[1]",
                   "table[\"a b\"].values[0]", "args_2[0]", "past.keys[0]",
                   "past.keys[1]", "past.values[0]"}));
}

TEST(LeafNames, Returns) {
  EXPECT_EQ(ReturnLeafNames(TreeSpec::Leaf()), Names{""});
  EXPECT_EQ(ReturnLeafNames(TreeSpec::Tuple({TreeSpec::Leaf(), Cache()})),
            (Names{"[0]", "[1].keys[0]", "[1].keys[1]", "[1].values[0]"}));
  EXPECT_EQ(ReturnLeafNames(
                TreeSpec::Dict({"y", "past"}, {TreeSpec::Leaf(), Cache()})),
            (Names{"y", "past.keys[0]", "past.keys[1]", "past.values[0]"}));
}

// A container whose context names nothing: its children are counted.
TEST(LeafNames, ContainersWithoutNames) {
  TreeSpec spec;
  spec.is_leaf = false;
  spec.type = "pkg.Pair";
  spec.context = "null";
  spec.children = {TreeSpec::Leaf(), TreeSpec::Leaf()};
  EXPECT_EQ(ReturnLeafNames(spec), (Names{"[0]", "[1]"}));
}

}  // namespace
}  // namespace tenon
