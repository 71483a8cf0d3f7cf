#include <gtest/gtest.h>

#include <string>

#include "../../limit_boundary.h"
#include "formats/json/json_input.h"

namespace tenon {
namespace {

LimitedRead Parsing(const std::string& text) {
  return [text](const ReadLimits& limits, Diagnostics& diags) {
    JsonInput json;
    return json.Parse(AsBytes(text), false, "x.json", limits, diags).ok();
  };
}

TEST(JsonLimits, Bytes) {
  ExpectBoundary(&ReadLimits::max_json_bytes, 9, Parsing("[1, 2, 3]"));
}

TEST(JsonLimits, Depth) {
  const std::string nested = std::string(50, '[') + std::string(50, ']');
  // Whether the document and an empty list are levels is the parser's matter.
  ExpectBoundaryBetween(&ReadLimits::max_depth, 48, 52, Parsing(nested));
}

}  // namespace
}  // namespace tenon
