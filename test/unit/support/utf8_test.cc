#include "support/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon {
namespace {

TEST(Utf8, TakesCharactersOfEachLengthAtEachPlace) {
  for (size_t before = 0; before < 20; ++before) {
    const std::string text = std::string(before, 'a') +
                             "\xC2\x80\xE2\x82\xAC\xF0\x9F\x98\x80" +
                             std::string(before, 'b');
    EXPECT_TRUE(IsUtf8(text)) << before;
  }
}

TEST(Utf8, TellsWhereItIsBad) {
  constexpr const char* kBad[] = {"\x80",          // goes on with nothing
                                  "\xC3",          // ends too early
                                  "\xC0\x80",      // longer than it has to be
                                  "\xE0\x80\x80",  // the same
                                  "\xED\xA0\x80",  // half of a surrogate pair
                                  "\xF4\x90\x80\x80",  // beyond Unicode
                                  "\xF8\x88\x80\x80\x80",
                                  "\xFF"};
  for (const char* bad : kBad) {
    for (const size_t before : {0, 5, 8, 13}) {
      EXPECT_EQ(FindBadUtf8(std::string(before, 'a') + bad), before);
    }
  }
}

}  // namespace
}  // namespace tenon
