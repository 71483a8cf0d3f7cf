#include "conformance/pt2/run.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include "conformance/pt2/check.h"

namespace tenon::conformance {

int RunEntries(size_t count, const std::function<std::string(size_t)>& name,
               const std::function<CheckResult(size_t)>& check,
               const RunOptions& options) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < count; ++i) {
    if (options.filter.empty() ||
        fnmatch(options.filter.c_str(), name(i).c_str(), 0) == 0) {
      chosen.push_back(i);
    }
  }
  if (chosen.empty()) {
    std::fprintf(stderr, "no entry matches '%s'\n", options.filter.c_str());
    return 2;
  }
  if (options.list) {
    for (const size_t i : chosen) std::printf("%s\n", name(i).c_str());
    return 0;
  }

  int counts[3] = {0, 0, 0};
  IsolationOptions isolation;
  isolation.timeout_seconds = options.timeout_seconds;
  isolation.jobs =
      options.jobs > 0
          ? options.jobs
          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  RunIsolated(
      chosen.size(), isolation, [&](size_t i) { return name(chosen[i]); },
      [&](size_t i) { return check(chosen[i]); },
      [&](size_t, CheckResult result) {
        ++counts[static_cast<int>(result.outcome)];
        if (options.verbose || !result.lines.starts_with("ok ")) {
          std::fputs(result.lines.c_str(), stdout);
          std::fflush(stdout);
        }
      });
  std::printf("%d passed, %d failed, %d skipped\n", counts[0], counts[1],
              counts[2]);
  return counts[1] == 0 ? 0 : 1;
}

int RunPt2(const std::string& manifest, const RunOptions& options) {
  Diagnostics diags;
  const auto programs = ReadManifest(manifest, diags);
  if (!programs) {
    std::fputs(diags.ToString().c_str(), stderr);
    return 2;
  }
  return RunEntries(
      programs->size(), [&](size_t i) { return (*programs)[i].name; },
      [&](size_t i) { return CheckProgram((*programs)[i]); }, options);
}

}  // namespace tenon::conformance
