#include "formats/pt2/read_calls.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon {
namespace {

std::string DefaultDict(const std::string& module, const std::string& name) {
  return R"([1, {"type": "collections.defaultdict", "context": )"
         R"({"default_factory_module": ")" +
         module + R"(", "default_factory_name": ")" + name +
         R"(", "dict_context": []}, "children_spec": []}])";
}

bool Reads(const std::string& text, Diagnostics& diags) {
  JsonInput json;
  EXPECT_TRUE(json.Parse(AsBytes("{}"), false, "m.json", ReadLimits(), diags));
  return ReadTreeSpec(text, json, JsonPath()).ok();
}

// PyTorch imports what a spec names as a defaultdict's factory.
TEST(ReadTreeSpec, V_FILE_07_OnlyPlainFactories) {
  Diagnostics diags;
  EXPECT_TRUE(Reads(DefaultDict("builtins", "list"), diags));
  EXPECT_TRUE(Reads(DefaultDict("collections", "OrderedDict"), diags));
  for (const auto& [module, name] :
       {std::pair("os", "getcwd"), std::pair("builtins", "eval"),
        std::pair("collections", "abc.eval"), std::pair("", "list")}) {
    diags.Clear();
    EXPECT_FALSE(Reads(DefaultDict(module, name), diags));
    ASSERT_EQ(diags.num_errors(), 1u);
    const Diagnostic& error = diags.all()[0];
    EXPECT_EQ(error.rule, Rule::kFile07);
    EXPECT_EQ(error.place.ToString(),
              "m.json:$:$[1].context.default_factory_name");
    EXPECT_NE(error.message.find(std::string(module) + "." + name),
              std::string::npos);
  }
}

TEST(ReadTreeSpec, ADefaultDictSaysItsFactory) {
  Diagnostics diags;
  EXPECT_FALSE(Reads(R"([1, {"type": "collections.defaultdict", )"
                     R"("context": "[]", "children_spec": []}])",
                     diags));
}

}  // namespace
}  // namespace tenon
