#include "ir/tree_spec.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(TreeSpec, CountsLeaves) {
  const TreeSpec leaf = TreeSpec::Leaf();
  EXPECT_EQ(leaf.num_leaves(), 1u);
  EXPECT_EQ(TreeSpec::Tuple({}).num_leaves(), 0u);
  EXPECT_EQ(TreeSpec::List({leaf, TreeSpec::Tuple({leaf, leaf})}).num_leaves(),
            3u);
}

TEST(TreeSpec, KeysComeBackAsTheyWere) {
  const std::vector<std::string> keys = {"a", "b \"q\" \\", "\xC3\xA9", "x\ny"};
  const TreeSpec dict = TreeSpec::Dict(
      keys, std::vector<TreeSpec>(keys.size(), TreeSpec::Leaf()));
  EXPECT_TRUE(dict.is_dict());
  EXPECT_EQ(dict.Keys(), keys);
}

TEST(TreeSpec, KeysThatAreNoStrings) {
  TreeSpec dict = TreeSpec::Dict({}, {});
  dict.context = "[3, null, \"a\", true]";
  dict.children.assign(4, TreeSpec::Leaf());
  EXPECT_EQ(dict.KeysJson(),
            (std::vector<std::string>{"3", "null", "\"a\"", "true"}));
  dict.children.pop_back();  // fewer children than keys: no keys
  EXPECT_TRUE(dict.KeysJson().empty());
}

TEST(TreeSpec, SurrogatesAndEscapes) {
  TreeSpec dict = TreeSpec::Dict({}, {TreeSpec::Leaf()});
  dict.context = "[\"\\ud83d\\ude00\\u00e9\\t\"]";
  EXPECT_EQ(dict.Keys()[0], "\xF0\x9F\x98\x80\xC3\xA9\t");
}

TEST(TreeSpec, DefaultdictKeysLieInItsContext) {
  TreeSpec spec;
  spec.is_leaf = false;
  spec.type = "collections.defaultdict";
  spec.context_is_json = true;
  spec.context =
      "{\"default_factory_module\": \"builtins\", \"default_factory_name\": "
      "\"list\", \"dict_context\": [\"k[]\", \"l\"]}";
  spec.children.assign(2, TreeSpec::Leaf());
  EXPECT_EQ(spec.Keys(), (std::vector<std::string>{"k[]", "l"}));
}

TEST(TreeSpec, LeafPathsOfACall) {
  const TreeSpec leaf = TreeSpec::Leaf();
  const TreeSpec spec =
      TreeSpec::Tuple({TreeSpec::Tuple({leaf, TreeSpec::List({leaf, leaf})}),
                       TreeSpec::Dict({"k"}, {TreeSpec::Dict({"a"}, {leaf})})});
  EXPECT_EQ(CallLeafPaths(spec),
            (std::vector<std::string>{"args.0", "args.1.0", "args.1.1",
                                      "kwargs.k.a"}));
}

TEST(TreeSpec, BrokenContextsGiveNoKeys) {
  TreeSpec dict = TreeSpec::Dict({}, {TreeSpec::Leaf()});
  for (const char* context :
       {"", "[", "]", "][", "[\"", "[\"\\", "{}", "null", "[[[", "\"[\""}) {
    dict.context = context;
    dict.Keys();
    dict.type = "collections.defaultdict";
    dict.context = std::string("{\"dict_context\"") + context;
    dict.Keys();
    dict.type = "builtins.dict";
  }
}

}  // namespace
}  // namespace tenon
