#include "formats/json/json_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon {
namespace {

std::string Text(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

std::string Float(double value) {
  std::string out;
  AppendJsonFloat(value, &out);
  return out;
}

// Expected texts are those of Python's json.dumps.
TEST(JsonText, EscapesAsPythonDoes) {
  EXPECT_EQ(Text("plain"), "\"plain\"");
  EXPECT_EQ(Text("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
  EXPECT_EQ(Text("\n\r\t\b\f\x01"), "\"\\n\\r\\t\\b\\f\\u0001\"");
  EXPECT_EQ(Text("\x7F"), "\"\x7F\"");
  EXPECT_EQ(Text("\xC3\xA9\xE2\x82\xAC"), "\"\\u00e9\\u20ac\"");
  EXPECT_EQ(Text("\xF0\x9F\x98\x80"), "\"\\ud83d\\ude00\"");
}

TEST(JsonText, ShowsWhatIsNotUtf8) {
  for (const std::string_view good : {"", "caf\xC3\xA9", "\xEF\xBF\xBD"}) {
    Diagnostics diags;
    EXPECT_TRUE(CheckJsonText(Text(good), Place::File("a"), diags));
    EXPECT_EQ(diags.num_errors(), 0u);
  }
  for (const std::string_view bad :
       {"\xFF", "one \xC3", "\xC0\x80", "\xED\xA0\x80", "\xE2\x82",
        "\xF4\x90\x80\x80"}) {
    Diagnostics diags;
    const std::string text = "[" + Text("x") + ", " + Text(bad) + "]";
    EXPECT_FALSE(CheckJsonText(text, Place::File("a"), diags)) << text;
  }
  Diagnostics diags;
  EXPECT_FALSE(
      CheckJsonText("{\"a\": \"one two\xFF\"}", Place::File("m"), diags));
  EXPECT_NE(diags.FirstError().find("byte 0xff isn't UTF-8, after \"one two\""),
            std::string::npos)
      << diags.FirstError();
}

TEST(JsonText, SpellsFloatsAsPythonDoes) {
  EXPECT_EQ(Float(1), "1.0");
  EXPECT_EQ(Float(-0.0), "-0.0");
  EXPECT_EQ(Float(0.1), "0.1");
  EXPECT_EQ(Float(1e-05), "1e-05");
  EXPECT_EQ(Float(0.0001), "0.0001");
  EXPECT_EQ(Float(1e16), "1e+16");
  EXPECT_EQ(Float(123456789012345.0), "123456789012345.0");
  EXPECT_EQ(Float(1e22), "1e+22");
  EXPECT_EQ(Float(5e-324), "5e-324");
  EXPECT_EQ(Float(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(Float(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(Float(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
  EXPECT_EQ(Float(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
}

}  // namespace
}  // namespace tenon
