// Programs as text, for tests of passes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "../../parsed_program.h"

namespace tenon {

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
