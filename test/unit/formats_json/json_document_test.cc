#include "formats/json/json_document.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tenon {
namespace {

constexpr uint32_t kDepth = 64;

std::string Rewritten(const std::string& text) {
  JsonDocument document;
  const auto fault = document.Parse(text, /*has_slack=*/false, kDepth);
  if (fault.what != nullptr) return fault.what;
  std::string out;
  AppendJsonElement(document.root(), &out);
  return out;
}

JsonIndex::Fault FaultOf(const std::string& text, uint32_t max_depth = kDepth) {
  JsonDocument document;
  return document.Parse(text, /*has_slack=*/false, max_depth);
}

// A type as a .pt2 spells it: large enough to be recognised.
std::string TensorMeta(int size) {
  return "{\"dtype\": 7, \"sizes\": [{\"as_int\": " + std::to_string(size) +
         "}, {\"as_int\": 4}], \"requires_grad\": true, \"device\": {\"type\": "
         "\"cpu\", \"index\": null}, \"strides\": [{\"as_int\": 4}, "
         "{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, \"layout\": "
         "7}";
}

TEST(JsonDocument, ReadsEachKindOfValue) {
  const std::string text =
      R"( {"a": [1, -2, 0.5, 1e3], "b": {"c": null, "d": true, "e": false},)"
      R"( "f": "x\n\"\u00e9\ud83d\ude00", "g": [], "h": {}} )";
  EXPECT_EQ(
      Rewritten(text),
      R"({"a": [1, -2, 0.5, 1000.0], "b": {"c": null, "d": true, )"
      R"("e": false}, "f": "x\n\"\u00e9\ud83d\ude00", "g": [], "h": {}})");
}

TEST(JsonDocument, ReadsRootsThatAreNoContainers) {
  EXPECT_EQ(Rewritten("12"), "12");
  EXPECT_EQ(Rewritten(" \"a\" "), "\"a\"");
  EXPECT_EQ(Rewritten("null"), "null");
}

TEST(JsonDocument, ReadsThePythonNumbersThatAreWords) {
  EXPECT_EQ(Rewritten("[NaN, Infinity, -Infinity]"),
            R"(["NaN", "Infinity", "-Infinity"])");
}

TEST(JsonDocument, TellsIntegersThatFitFromOthers) {
  JsonDocument document;
  const std::string text =
      "[9223372036854775807, 9223372036854775808, -9223372036854775808, 1.0]";
  ASSERT_EQ(document.Parse(text, false, kDepth).what, nullptr);
  JsonArray array;
  ASSERT_TRUE(document.root().Get(&array));
  ASSERT_EQ(array.size(), 4u);
  int64_t value = 0;
  EXPECT_TRUE(array.at(0).Get(&value));
  EXPECT_EQ(value, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(array.at(1).kind(), JsonKind::kInt);
  EXPECT_FALSE(array.at(1).Get(&value));
  EXPECT_TRUE(array.at(2).Get(&value));
  EXPECT_EQ(array.at(3).kind(), JsonKind::kFloat);
  EXPECT_FALSE(array.at(3).Get(&value));
  EXPECT_FALSE(array.at(4).valid());
}

TEST(JsonDocument, ReadsFloatsBeyondADoubleAsPythonDoes) {
  JsonDocument document;
  ASSERT_EQ(document.Parse("[1e999, -1e999, 1e-999]", false, kDepth).what,
            nullptr);
  JsonArray array;
  ASSERT_TRUE(document.root().Get(&array));
  double value = 0;
  ASSERT_TRUE(array.at(0).Get(&value));
  EXPECT_EQ(value, std::numeric_limits<double>::infinity());
  ASSERT_TRUE(array.at(1).Get(&value));
  EXPECT_EQ(value, -std::numeric_limits<double>::infinity());
  ASSERT_TRUE(array.at(2).Get(&value));
  EXPECT_EQ(value, 0);
}

TEST(JsonDocument, GivesTheTextOfValues) {
  JsonDocument document;
  const std::string text =
      R"({"a": [1, {"b": "x\"y"}], "c": -1.5e3, "d": true})";
  ASSERT_EQ(document.Parse(text, false, kDepth).what, nullptr);
  const JsonElement root = document.root();
  EXPECT_EQ(root.text(), text);
  EXPECT_EQ(root["a"].text(), R"([1, {"b": "x\"y"}])");
  EXPECT_EQ(root["c"].text(), "-1.5e3");
  EXPECT_EQ(root["d"].text(), "true");
  EXPECT_FALSE(root["e"].valid());
}

struct BadText {
  const char* text;
  const char* what;
  uint64_t offset;
};

class BadJson : public ::testing::TestWithParam<BadText> {};

TEST_P(BadJson, IsRefusedAtItsByte) {
  const auto fault = FaultOf(GetParam().text);
  ASSERT_NE(fault.what, nullptr);
  EXPECT_NE(std::string(fault.what).find(GetParam().what), std::string::npos)
      << fault.what;
  EXPECT_EQ(fault.offset, GetParam().offset);
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadJson,
    ::testing::Values(
        BadText{"", "unexpected end", 0}, BadText{"  ", "unexpected end", 2},
        BadText{"[1, 2", "unexpected end", 5},
        BadText{"{\"a\"", "unexpected end", 4},
        BadText{"{\"a\": \"b", "unexpected end", 8},
        BadText{"[1 2]", "unexpected token", 3},
        BadText{"[1,, 2]", "unexpected token", 3},
        BadText{"[1,]", "unexpected token", 3},
        BadText{"[1}", "unexpected token", 2},
        BadText{"{\"a\" 1}", "unexpected token", 5},
        BadText{"{\"a\": 1, 2}", "unexpected token", 9},
        BadText{"{1: 2}", "unexpected token", 1},
        BadText{"{\"a\": }", "unexpected token", 6},
        BadText{"[] []", "unexpected token", 3}, BadText{"[01]", "neither", 1},
        BadText{"[1.]", "neither", 1}, BadText{"[1e]", "neither", 1},
        BadText{"[-]", "neither", 1}, BadText{"[+1]", "neither", 1},
        BadText{"[nul]", "neither", 1}, BadText{"[nullx]", "neither", 1},
        BadText{"[1\"a\"]", "neither", 1}, BadText{"['a']", "neither", 1},
        BadText{"[\"a\"\"b\"]", "unexpected token", 4},
        BadText{"[\"\\x\"]", "escape", 2},
        BadText{"[\"\\u12G4\"]", "escape", 2},
        BadText{"[\"\\ud83d\"]", "surrogate", 2},
        BadText{"[\"\\ude00\"]", "surrogate", 2},
        BadText{"[\"a\nb\"]", "control", 3},
        BadText{"[\"\xC3\x28\"]", "UTF-8", 2},
        BadText{"[\"\xED\xA0\x80\"]", "UTF-8", 2}));

TEST(JsonDocument, RefusesWhatIsNestedTooDeeply) {
  const auto nested = [](size_t n) {
    return std::string(n, '[') + std::string(n, ']');
  };
  EXPECT_EQ(FaultOf(nested(9), 10).what, nullptr);
  const auto fault = FaultOf(nested(10), 10);
  ASSERT_NE(fault.what, nullptr);
  EXPECT_STREQ(fault.what, "nesting too deep");
  EXPECT_EQ(fault.offset, 9u);
}

TEST(JsonDocument, KeysMayBeEscaped) {
  JsonDocument document;
  ASSERT_EQ(document.Parse(R"({"\u0061b": 1})", false, kDepth).what, nullptr);
  int64_t value = 0;
  EXPECT_TRUE(document.root()["ab"].Get(&value));
  EXPECT_EQ(value, 1);
}

TEST(JsonDocument, ReadsRepetitionsAsIfTheyWereIndexed) {
  std::string text = "{";
  for (int i = 0; i < 200; ++i) {
    // Every third is like an earlier one, at other distances from blocks.
    text += i == 0 ? "" : ", ";
    text += "\"" + std::string(i % 37, 'n') + std::to_string(i) +
            "\": " + TensorMeta(i % 3 == 0 ? 1 : i);
  }
  text += ", \"last\": [" + TensorMeta(1) + ", 1]}";
  EXPECT_EQ(Rewritten(text), text);

  JsonDocument document;
  ASSERT_EQ(document.Parse(text, false, kDepth).what, nullptr);
  uint32_t original = 0;
  JsonObject root;
  ASSERT_TRUE(document.root().Get(&root));
  EXPECT_EQ(root.size(), 201u);
  size_t i = 0;
  for (const auto field : root) {
    if (i == 6) original = field.value.original();
    if (i > 6 && i < 200 && i % 3 == 0) {
      EXPECT_EQ(field.value.original(), original) << i;
      EXPECT_EQ(field.value.text(), TensorMeta(1)) << i;
      JsonObject object;
      ASSERT_TRUE(field.value.Get(&object));
      EXPECT_EQ(object.size(), 7u);
      std::string_view type;
      EXPECT_TRUE(field.value["device"]["type"].Get(&type));
      EXPECT_EQ(type, "cpu");
    }
    ++i;
  }
}

TEST(JsonDocument, RepetitionsInsideRepetitionsAreFound) {
  const std::string pair =
      "{\"first\": " + TensorMeta(2) + ", \"second\": " + TensorMeta(2) + "}";
  std::string text = "{\"0\": " + TensorMeta(2);
  for (int i = 1; i < 20; ++i) {
    text += ", \"" + std::to_string(i) + "\": " + pair;
  }
  text += "}";
  EXPECT_EQ(Rewritten(text), text);
}

TEST(JsonDocument, RepetitionsThatEndOtherwiseAreNone) {
  std::string text = "[{\"a\": " + TensorMeta(2);
  for (int i = 0; i < 20; ++i) text += ", \"k\": " + TensorMeta(2);
  const std::string meta = TensorMeta(2);
  // The same up to the last byte, and then no end.
  EXPECT_NE(FaultOf(text + ", \"k\": " + meta.substr(0, meta.size() - 1)).what,
            nullptr);
  EXPECT_NE(FaultOf(text + ", \"k\": " + meta).what, nullptr);
  EXPECT_EQ(FaultOf(text + ", \"k\": " + meta + "}]").what, nullptr);
}

// What another parser says of the same text: whether it is JSON, and in one
// spelling.
std::string BySimdjson(const std::string& text) {
  simdjson::dom::parser parser;
  const auto root = parser.parse(simdjson::padded_string(text));
  return root.error() ? "bad" : simdjson::minify(root.value_unsafe());
}

std::string ByTenon(const std::string& text) {
  JsonDocument document;
  if (document.Parse(text, false, 1024).what != nullptr) return "bad";
  std::string out;
  AppendJsonElement(document.root(), &out);
  return BySimdjson(out);
}

TEST(JsonDocument, AgreesWithAnotherParserOnDamagedTexts) {
  std::string whole = R"({"n": [0, -1, 2.5, 1e-3, true, false, null], )"
                      R"("s": "a\\b\"c\u0041", "t": {"u": []}, "v": [)";
  for (int i = 0; i < 12; ++i) {
    whole += (i == 0 ? "" : ", ") + ("{\"m\": " + TensorMeta(i % 4)) + "}";
  }
  whole += "]}";
  ASSERT_EQ(ByTenon(whole), BySimdjson(whole));
  ASSERT_NE(ByTenon(whole), "bad");
  const std::string bytes = "{}[]:,\"\\ 0-.eEntfau\n\x01\xC3\xA9x";
  std::mt19937 random(20261130);
  size_t num_bad = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    const int edits = 1 + static_cast<int>(random() % 3);
    for (int e = 0; e < edits; ++e) {
      const size_t at = random() % text.size();
      const char byte = bytes[random() % bytes.size()];
      switch (random() % 4) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, 1, byte);
          break;
        default:
          if (random() % 8 == 0) text.resize(at + 1);
      }
    }
    const std::string expected = BySimdjson(text);
    num_bad += expected == "bad";
    ASSERT_EQ(ByTenon(text), expected) << text;
  }
  EXPECT_GT(num_bad, 1000u);
  EXPECT_LT(num_bad, 19'900u);
}

}  // namespace
}  // namespace tenon
