// Small programs as .pte, for tests of the export.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../../parsed_program.h"
#include "executorch/export_pte.h"
#include "formats/pte/pte_text.h"

namespace tenon {

// The listing of what the program becomes.
inline std::string Made(std::string_view text, PteExportReport* report,
                        const PteExportOptions& options = {}) {
  Diagnostics diags;
  const auto made = MakePte(Parse(text), options, report, diags);
  EXPECT_TRUE(made) << diags.ToString();
  std::string out;
  if (!made) return out;
  for (const std::string& line : PrintPte(*made, false)) out += line + "\n";
  return out;
}
inline std::string Made(std::string_view text) {
  PteExportReport report;
  return Made(text, &report);
}

// What is said of a program that can't be one.
inline Diagnostics Refused(std::string_view text,
                           const PteExportOptions& options = {}) {
  Diagnostics diags;
  PteExportReport report;
  EXPECT_FALSE(MakePte(Parse(text), options, &report, diags));
  EXPECT_TRUE(diags.has_errors());
  return diags;
}

inline void ExpectHas(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nin " << text;
}
inline void ExpectLacks(const std::string& text, std::string_view part) {
  EXPECT_EQ(text.find(part), std::string::npos) << part << "\nin " << text;
}

}  // namespace tenon
