// Programs as text, for tests of passes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "text/text.h"
#include "verify/verify.h"

namespace tenon {

inline Program Parse(std::string_view text) {
  Diagnostics diags;
  auto program =
      ParseProgram("tenon 1\n" + std::string(text), "test",
                   std::make_shared<Context>(), PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  if (!program) return Program(std::make_shared<Context>());
  EXPECT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  return std::move(*program);
}

// Without the line breaks inside of lists.
inline std::string Print(const Program& program) {
  const std::string text = PrintProgram(program, PrintOptions());
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_broken =
        text[i] == '\n' && !out.empty() &&
        (out.back() == '(' || out.back() == ',' || out.back() == '[');
    if (!is_broken) {
      out += text[i];
      continue;
    }
    if (out.back() == ',') out += ' ';
    while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
  }
  return out;
}

inline void ExpectValid(const Program& program) {
  Diagnostics diags;
  EXPECT_TRUE(Verify(program, VerifyOptions(), diags))
      << diags.ToString() << Print(program);
}

inline void ExpectHas(const Program& program, std::string_view part) {
  const std::string text = Print(program);
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin " << text;
}

inline void ExpectLacks(const Program& program, std::string_view part) {
  const std::string text = Print(program);
  EXPECT_EQ(text.find(part), std::string::npos) << part << "\nin " << text;
}

}  // namespace tenon
