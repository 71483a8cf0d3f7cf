#include "sequence_diff.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/choices.h"

namespace tenon::tools {
namespace {

std::vector<uint64_t> Letters(std::string_view text) {
  return {text.begin(), text.end()};
}

// "-a" removed, "+b" added, " c" kept.
std::string Show(std::string_view a, std::string_view b,
                 size_t max_edits = 1000) {
  std::string out;
  const auto x = Letters(a), y = Letters(b);
  for (const Edit& edit : DiffSequences(x, y, max_edits)) {
    switch (edit.kind) {
      case Edit::Kind::kKeep:
        EXPECT_EQ(a[edit.a], b[edit.b]);
        out += a[edit.a];
        break;
      case Edit::Kind::kRemove:
        out += std::string("-") + a[edit.a];
        break;
      case Edit::Kind::kAdd:
        out += std::string("+") + b[edit.b];
        break;
    }
  }
  return out;
}

TEST(SequenceDiffTest, FindsTheShortestScript) {
  EXPECT_EQ(Show("", ""), "");
  EXPECT_EQ(Show("abc", "abc"), "abc");
  EXPECT_EQ(Show("", "ab"), "+a+b");
  EXPECT_EQ(Show("ab", ""), "-a-b");
  EXPECT_EQ(Show("abcd", "abXd"), "ab-c+Xd");
  EXPECT_EQ(Show("abcabba", "cbabac").size(),
            std::string("-a-bc+bab-ba+c").size());
}

// Length of the longest common subsequence, by the textbook table.
size_t CommonLength(const std::vector<uint64_t>& a,
                    const std::vector<uint64_t>& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1,
                                         std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      table[i][j] = a[i - 1] == b[j - 1]
                        ? table[i - 1][j - 1] + 1
                        : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  return table[a.size()][b.size()];
}

// A script visits every position of both sides once, in order.
size_t CheckScript(const std::vector<uint64_t>& a,
                   const std::vector<uint64_t>& b, size_t max_edits) {
  size_t i = 0, j = 0, num_kept = 0;
  for (const Edit& edit : DiffSequences(a, b, max_edits)) {
    EXPECT_EQ(edit.a, i);
    EXPECT_EQ(edit.b, j);
    if (edit.kind != Edit::Kind::kAdd) ++i;
    if (edit.kind != Edit::Kind::kRemove) ++j;
    if (edit.kind == Edit::Kind::kKeep) {
      EXPECT_EQ(a[edit.a], b[edit.b]);
      ++num_kept;
    }
  }
  EXPECT_EQ(i, a.size());
  EXPECT_EQ(j, b.size());
  return num_kept;
}

TEST(SequenceDiffTest, IsAValidShortestScriptOnRandomSequences) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    tenon::testing::Choices choices(seed);
    std::vector<uint64_t> a, b;
    for (uint32_t n = choices.Below(30); n > 0; --n)
      a.push_back(choices.Below(5));
    for (uint32_t n = choices.Below(30); n > 0; --n)
      b.push_back(choices.Below(5));
    EXPECT_EQ(CheckScript(a, b, 1000), CommonLength(a, b)) << "seed " << seed;
    // Beyond the bound the script is still valid.
    CheckScript(a, b, 1);
  }
}

}  // namespace
}  // namespace tenon::tools
