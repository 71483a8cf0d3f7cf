// Programs as text, and what is looked for in them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "text/text.h"

namespace tenon {

inline Program Parse(std::string_view text) {
  Diagnostics diags;
  auto program = ParseProgram(text, "test", std::make_shared<Context>(),
                              PayloadSource(), diags);
  EXPECT_TRUE(program) << diags.ToString();
  return program ? std::move(*program) : Program(std::make_shared<Context>());
}

inline bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace tenon
