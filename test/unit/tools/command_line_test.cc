#include "command_line.h"

#include <gtest/gtest.h>

#include <array>

#include "verbs.h"

namespace tenon::tools {
namespace {

constexpr Option kOptions[] = {
    {"--output", 'o', "FILE", "Where to write."},
    {"--shape", 0, "chain|wide", "How it hangs together."},
    {"--set", 0, "PATH=VALUE", "A value.", true},
    {"--quiet", 'q', "", "Says nothing."},
    {"--nodes", 'n', "N", "How many."},
};

ExitCode RunNothing(const CommandLine&, Console&) { return ExitCode::kFine; }

constexpr Verb kVerb = {
    "probe",           "FILE",   1,         2, "probes", "Probes a file.",
    "tenon probe x\n", kOptions, RunNothing};

class CommandLineTest : public testing::Test {
 protected:
  bool Parse(std::vector<std::string> words) {
    line_ = CommandLine(&kVerb);
    error_.clear();
    return ParseCommandLine(words, &line_, &error_);
  }

  CommandLine line_{&kVerb};
  std::string error_;
};

TEST_F(CommandLineTest, ReadsEachFormOfAnOption) {
  ASSERT_TRUE(Parse({"a", "--output", "x", "-q"})) << error_;
  EXPECT_EQ(line_.Get("--output"), "x");
  EXPECT_TRUE(line_.Has("--quiet"));
  ASSERT_TRUE(Parse({"--output=y=z", "a"})) << error_;
  EXPECT_EQ(line_.Get("--output"), "y=z");
  ASSERT_TRUE(Parse({"-ox", "a"})) << error_;
  EXPECT_EQ(line_.Get("--output"), "x");
  ASSERT_TRUE(Parse({"-o", "-", "-"})) << error_;
  EXPECT_EQ(line_.Get("--output"), "-");
  EXPECT_EQ(line_.arguments(), std::vector<std::string>{"-"});
}

TEST_F(CommandLineTest, EndsOptionsAtTwoDashes) {
  ASSERT_TRUE(Parse({"--", "--output"})) << error_;
  EXPECT_EQ(line_.arguments(), std::vector<std::string>{"--output"});
  EXPECT_FALSE(line_.Has("--output"));
}

TEST_F(CommandLineTest, CollectsRepeatableOptions) {
  ASSERT_TRUE(Parse({"a", "--set", "x=1", "--set", "y=2"})) << error_;
  EXPECT_EQ(line_.GetAll("--set"), (std::vector<std::string>{"x=1", "y=2"}));
}

TEST_F(CommandLineTest, RefusesWhatTheTableLacks) {
  EXPECT_FALSE(Parse({"a", "--ouptut", "x"}));
  EXPECT_NE(error_.find("did you mean '--output'?"), std::string::npos)
      << error_;
  EXPECT_FALSE(Parse({"a", "--output"}));
  EXPECT_FALSE(Parse({"a", "--quiet=1"}));
  EXPECT_FALSE(Parse({"a", "-o", "x", "-o", "y"}));
  EXPECT_FALSE(Parse({"a", "--shape", "chian"}));
  EXPECT_NE(error_.find("did you mean 'chain'?"), std::string::npos) << error_;
  EXPECT_FALSE(Parse({}));
  EXPECT_FALSE(Parse({"a", "b", "c"}));
  EXPECT_FALSE(Parse({"a", "-x"}));
}

TEST_F(CommandLineTest, HelpNeedsNoArguments) {
  ASSERT_TRUE(Parse({"--help"})) << error_;
  EXPECT_TRUE(line_.Has("--help"));
}

TEST_F(CommandLineTest, CountsAreBounded) {
  std::string error;
  ASSERT_TRUE(Parse({"a", "-n", "12"})) << error_;
  EXPECT_EQ(line_.GetCount("--nodes", 1, 100, &error), 12u);
  EXPECT_EQ(line_.GetCount("--nodes", 1, 11, &error), std::nullopt);
  for (const char* text : {"", "-1", "1x", "0x10", "99999999999999999999"}) {
    ASSERT_TRUE(Parse({"a", "-n", text})) << error_;
    EXPECT_EQ(line_.GetCount("--nodes", 1, 100, &error), std::nullopt) << text;
  }
  ASSERT_TRUE(Parse({"a"})) << error_;
  EXPECT_EQ(line_.GetCount("--nodes", 7, 100, &error), 7u);
}

TEST(ClosestNameTest, FindsTyposAndBeginnings) {
  constexpr std::array<std::string_view, 4> kNames = {"export", "verify",
                                                      "info", "dis"};
  EXPECT_EQ(ClosestName("exprot", kNames), "export");
  EXPECT_EQ(ClosestName("verfy", kNames), "verify");
  EXPECT_EQ(ClosestName("ver", kNames), "verify");
  EXPECT_EQ(ClosestName("dsi", kNames), "dis");
  EXPECT_EQ(ClosestName("banana", kNames), "");
  EXPECT_EQ(ClosestName("", kNames), "");
}

// The help is made from the same table as the parser, so a complete table is
// all that can be checked here.
TEST(VerbTableTest, EveryVerbIsComplete) {
  std::vector<std::string_view> names;
  for (const Verb* verb : AllVerbs()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), verb->name), 0)
        << verb->name;
    names.push_back(verb->name);
    const std::string help = HelpOf(*verb);
    EXPECT_NE(help.find("\nexamples:\n tenon " + std::string(verb->name)),
              std::string::npos)
        << help;
    EXPECT_FALSE(verb->summary.empty());
    EXPECT_NE(verb->run, nullptr);
    for (const Option& o : verb->options) {
      EXPECT_TRUE(o.name.starts_with("--")) << o.name;
      EXPECT_FALSE(o.help.empty()) << o.name;
      EXPECT_NE(help.find(o.name), std::string::npos) << o.name;
    }
    size_t begin = 0;
    for (size_t end; (end = help.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      EXPECT_LE(end - begin, 80u) << help.substr(begin, end - begin);
    }
  }
}

}  // namespace
}  // namespace tenon::tools
