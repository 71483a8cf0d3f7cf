// Prints, parses and compares, for the tests of the text form.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "text/text.h"

namespace tenon {

// A context of its own for each parse: nothing may come back from the pool
// that the text doesn't say.
inline Expected<Program> ParseText(std::string_view text, Diagnostics& diags,
                                   const PayloadSource& payloads = {}) {
  return ParseProgram(text, "test.tenon", std::make_shared<Context>(), payloads,
                      diags);
}

// The program of a text that has to be right.
inline Program MustParse(std::string_view text) {
  Diagnostics diags;
  auto program = ParseText(text, diags);
  EXPECT_TRUE(program.ok()) << diags.ToString() << text;
  if (!program) return Program(std::make_shared<Context>());
  return std::move(*program);
}

// Prints, parses, prints again; both texts are equal. Returns the parsed
// program.
inline Program RoundTrip(const Program& program) {
  std::map<Digest, std::string> side;
  PrintOptions options;
  options.side_file = [&](const Digest& digest, Bytes bytes) {
    side[digest] = AsText(bytes);
  };
  const std::string text = PrintProgram(program, options);
  Diagnostics diags;
  const auto payloads = [&](const Digest& digest)
      -> std::pair<Bytes, std::shared_ptr<const void>> {
    const auto it = side.find(digest);
    if (it == side.end()) return {};
    auto copy = std::make_shared<std::string>(it->second);
    return {AsBytes(*copy), copy};
  };
  auto parsed = ParseText(text, diags, payloads);
  EXPECT_TRUE(parsed.ok()) << diags.ToString() << text;
  if (!parsed) return Program(std::make_shared<Context>());
  EXPECT_EQ(PrintProgram(*parsed, options), text);
  return std::move(*parsed);
}

// The first error's "line:column: message", or "" when the text is right.
inline std::string ErrorOf(std::string_view text) {
  Diagnostics diags;
  const auto program = ParseText(text, diags);
  if (program) return "";
  const Diagnostic& d = diags.all().at(0);
  EXPECT_EQ(d.rule, Rule::kText);
  return std::to_string(d.place.line) + ":" + std::to_string(d.place.column) +
         ": " + d.message;
}

}  // namespace tenon
