#include "support/hash.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(Digest, HexRoundTrip) {
  const Digest d = HashBytes("abc", 3);
  Digest back;
  ASSERT_TRUE(Digest::FromHex(d.ToHex(), &back));
  EXPECT_EQ(d, back);
  EXPECT_FALSE(Digest::FromHex("xyz", &back));
}

// XXH3's published value for the empty input: digests are stable.
TEST(Digest, IsXxh3) {
  EXPECT_EQ(HashBytes("", 0).ToHex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Hasher, ItemsDelimitThemselves) {
  Hasher a, b;
  a.Add(std::string_view("a"));
  a.Add(std::string_view("bc"));
  b.Add(std::string_view("ab"));
  b.Add(std::string_view("c"));
  EXPECT_FALSE(a.Finish() == b.Finish());
}

TEST(Hasher, LongInputsCountEveryWord) {
  for (uint64_t n : {47u, 48u, 49u, 100u}) {
    Hasher a, b;
    for (uint64_t i = 0; i < n; ++i) a.Add(i);
    for (uint64_t i = 0; i < n; ++i) b.Add(i == n - 1 ? i + 1 : i);
    EXPECT_FALSE(a.Finish() == b.Finish()) << n;
    b.Reset();
    for (uint64_t i = 0; i < n; ++i) b.Add(i);
    EXPECT_EQ(a.Finish(), b.Finish()) << n;
  }
}

}  // namespace
}  // namespace tenon
