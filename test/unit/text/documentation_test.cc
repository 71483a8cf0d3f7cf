// The examples of docs/text-form.md are programs.
#include <fstream>
#include <sstream>

#include "round_trip.h"

namespace tenon {
namespace {

TEST(TextDocumentation, ExamplesParseAndRoundTrip) {
  // Tests run in the source folder.
  std::ifstream file("docs/text-form.md");
  ASSERT_TRUE(file.good()) << "run this test from the source folder";
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  constexpr std::string_view kOpen = "```tenon\n";
  int num_examples = 0;
  for (size_t at = text.find(kOpen); at != std::string::npos;
       at = text.find(kOpen, at)) {
    at += kOpen.size();
    const size_t end = text.find("\n```", at);
    ASSERT_NE(end, std::string::npos);
    RoundTrip(MustParse(text.substr(at, end - at)));
    ++num_examples;
  }
  EXPECT_GE(num_examples, 3);
}

// The first example is in the printer's own form.
TEST(TextDocumentation, TheFirstExampleIsWhatThePrinterWrites) {
  std::ifstream file("docs/text-form.md");
  ASSERT_TRUE(file.good()) << "run this test from the source folder";
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  constexpr std::string_view kOpen = "```tenon\n";
  const size_t begin = text.find(kOpen) + kOpen.size();
  const std::string example =
      text.substr(begin, text.find("\n```", begin) + 1 - begin);
  std::string expected = example;
  // A small storage is printed as hex.
  const size_t zeros = expected.find("zeros");
  ASSERT_NE(zeros, std::string::npos);
  expected.replace(zeros, 5, "hex\"0000000000000000\"");
  EXPECT_EQ(PrintProgram(MustParse(example), {}), expected);
}

}  // namespace
}  // namespace tenon
