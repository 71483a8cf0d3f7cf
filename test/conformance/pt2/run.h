// The checks of check.h over a manifest.
#pragma once

#include <string>

namespace tenon::conformance {

struct RunOptions {
  std::string filter;    // a glob over names; "" = all
  bool list = false;     // only print the names
  bool verbose = false;  // a line for what passed, too
  int jobs = 0;          // 0 = one per processor
  int timeout_seconds = 300;
};

// Prints a line for each step that failed and each program that was skipped,
// then "N passed, N failed, N skipped". Zero when nothing failed, 1 otherwise,
// 2 when the manifest can't be read or nothing matches.
int RunPt2(const std::string& manifest, const RunOptions& options);

}  // namespace tenon::conformance
