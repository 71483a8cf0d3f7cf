#include "findings.h"

#include <gtest/gtest.h>

#include "json_writer.h"

namespace tenon::tools {
namespace {

Diagnostics TwoFindings() {
  Diagnostics diags;
  diags.Error(Rule::kText, Place::Text("a.tenon", 3, 7, "  %x = \"q\""))
          .Note(Place::Node("main/%y"), "defined here")
      << "unexpected \"text\"";
  diags.Warning(Rule::kFile08, Place::Offset("m.pt2", 17)) << "short record";
  return diags;
}

TEST(FindingsTest, TextHasPlaceRuleAndCaret) {
  EXPECT_EQ(FindingsAsText(TwoFindings(), false),
            "error: a.tenon:3:7: unexpected \"text\" [T-TEXT]\n"
            "    %x = \"q\"\n"
            "        ^\n"
            "note: main/%y: defined here\n"
            "warning: m.pt2 at byte 17: short record [V-FILE-08]\n");
}

TEST(FindingsTest, ColorsOnlySeverities) {
  const std::string text = FindingsAsText(TwoFindings(), true);
  EXPECT_EQ(text.find("\033[1;31merror:\033[0m a.tenon"), 0u);
  EXPECT_NE(text.find("\n\033[1;35mwarning:\033[0m m.pt2"), std::string::npos);
}

TEST(FindingsTest, JsonHoldsEveryPartOfARecord) {
  const std::string json = FindingsAsJson(TwoFindings());
  EXPECT_NE(json.find("\"errors\": 1"), std::string::npos);
  EXPECT_NE(json.find("\"message\": \"unexpected \\\"text\\\"\""),
            std::string::npos);
  EXPECT_NE(json.find("\"line\": 3"), std::string::npos);
  EXPECT_NE(json.find("\"column\": 7"), std::string::npos);
  EXPECT_NE(json.find("\"offset\": 17"), std::string::npos);
  EXPECT_NE(json.find("\"node\": \"main/%y\""), std::string::npos);
}

TEST(FindingsTest, SarifNamesEachCitedRuleOnce) {
  Diagnostics diags = TwoFindings();
  diags.Error(Rule::kText) << "again";
  const std::string sarif = FindingsAsSarif(diags);
  const size_t first = sarif.find("\"id\": \"T-TEXT\"");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(sarif.find("\"id\": \"T-TEXT\"", first + 1), std::string::npos);
  EXPECT_NE(sarif.find("\"startLine\": 3"), std::string::npos);
  EXPECT_NE(sarif.find("\"byteOffset\": 17"), std::string::npos);
  EXPECT_NE(sarif.find("\"fullyQualifiedName\": \"main/%y\""),
            std::string::npos);
}

TEST(FindingsTest, SarifTellsFilesFromTheirMembers) {
  Diagnostics diags;
  diags.Error(Rule::kXPickle01,
              Place::Offset("a b/m:1.pt2: data/w.pt: x/data.pkl", 7))
      << "x";
  diags.Error(Rule::kFile01, Place::Offset("cut.pt2", 9)) << "y";
  const std::string sarif = FindingsAsSarif(diags);
  EXPECT_NE(sarif.find("\"uri\": \"a%20b/m%3A1.pt2\""), std::string::npos)
      << sarif;
  EXPECT_NE(sarif.find("\"data/w.pt: x/data.pkl at byte 7\""),
            std::string::npos)
      << sarif;
  // An offset in a member is none of the file.
  EXPECT_EQ(sarif.find("\"byteOffset\": 7"), std::string::npos);
  EXPECT_NE(sarif.find("\"byteOffset\": 9"), std::string::npos);
}

TEST(JsonWriterTest, EscapesAndRepairsText) {
  EXPECT_EQ(JsonQuote("a\"\\\n\t\x01"), "\"a\\\"\\\\\\n\\t\\u0001\"");
  EXPECT_EQ(JsonQuote("\xC3\xA9 \xE2\x82\xAC"), "\"\xC3\xA9 \xE2\x82\xAC\"");
  // Stray and overlong bytes, a surrogate, a cut sequence.
  EXPECT_EQ(JsonQuote("\xFF"), "\"\\ufffd\"");
  EXPECT_EQ(JsonQuote("\xC0\x80"), "\"\\ufffd\\ufffd\"");
  EXPECT_EQ(JsonQuote("\xED\xA0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(JsonQuote("\xE2\x82"), "\"\\ufffd\\ufffd\"");
}

TEST(JsonWriterTest, IndentsAndSeparates) {
  JsonWriter json;
  json.BeginObject();
  json.Key("a");
  json.BeginArray();
  json.Int(-1);
  json.Double(0.5);
  json.Null();
  json.EndArray();
  json.Key("b");
  json.BeginArray();
  json.EndArray();
  json.Member("c", true);
  json.EndObject();
  EXPECT_EQ(json.Take(),
            "{\n  \"a\": [\n    -1,\n    0.5,\n    null\n  ],\n  \"b\": [],\n"
            "  \"c\": true\n}\n");
}

}  // namespace
}  // namespace tenon::tools
