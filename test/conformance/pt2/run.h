// Checks over the entries of a manifest.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "conformance/isolated.h"

namespace tenon::conformance {

struct RunOptions {
  std::string filter;    // a glob over names; "" = all
  bool list = false;     // only print the names
  bool verbose = false;  // a line for what passed, too
  int jobs = 0;          // 0 = one per processor
  int timeout_seconds = 300;
};

// Runs `check` over the entries whose name matches, each in a process of its
// own, prints their lines and "N passed, N failed, N skipped". Lines that start
// with "ok " are printed with `verbose` only. Zero when nothing failed, 1
// otherwise, 2 when nothing matches.
int RunEntries(size_t count, const std::function<std::string(size_t)>& name,
               const std::function<CheckResult(size_t)>& check,
               const RunOptions& options);

// The checks of check.h. 2 when the manifest can't be read.
int RunPt2(const std::string& manifest, const RunOptions& options);

}  // namespace tenon::conformance
