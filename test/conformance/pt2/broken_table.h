// What Tenon says of each damaged file of a manifest, as a table in the
// repository (test/conformance/broken.tsv tells its columns).
#pragma once

#include <map>
#include <string>

#include "diag/diagnostics.h"
#include "support/expected.h"

namespace tenon::conformance {

struct BrokenRow {
  bool accept = false;
  std::string rule;     // id of the first error
  std::string place;    // part of the error's place
  std::string message;  // part of the message; why, where a file is accepted
};

// By the file's name in the manifest.
using BrokenTable = std::map<std::string, BrokenRow>;

// Lines of five fields between tabs; those that begin with '#' are comments.
Expected<BrokenTable> ReadBrokenTable(const std::string& path,
                                      Diagnostics& diags);

// "" when the error is the row's, else what differs.
std::string Difference(const BrokenRow& row, const Diagnostic& error);

}  // namespace tenon::conformance
