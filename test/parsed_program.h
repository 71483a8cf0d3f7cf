// Programs as text, for tests of what is made of them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "one_line.h"
#include "text/text.h"
#include "verify/verify.h"

namespace tenon {

// A program that holds all rules; "tenon 1" stands before the text.
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
  return OnOneLine(PrintProgram(program, PrintOptions()));
}

}  // namespace tenon
