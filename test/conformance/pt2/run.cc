#include "conformance/pt2/run.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "conformance/pt2/check.h"

namespace tenon::conformance {

int RunPt2(const std::string& manifest, const RunOptions& options) {
  Diagnostics diags;
  auto programs = ReadManifest(manifest, diags);
  if (!programs) {
    std::fputs(diags.ToString().c_str(), stderr);
    return 2;
  }
  std::erase_if(*programs, [&](const CorpusProgram& program) {
    return !options.filter.empty() &&
           fnmatch(options.filter.c_str(), program.name.c_str(), 0) != 0;
  });
  if (programs->empty()) {
    std::fprintf(stderr, "no program of %s matches '%s'\n", manifest.c_str(),
                 options.filter.c_str());
    return 2;
  }
  if (options.list) {
    for (const CorpusProgram& program : *programs) {
      std::printf("%s\n", program.name.c_str());
    }
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
      programs->size(), isolation,
      [&](size_t i) { return (*programs)[i].name; },
      [&](size_t i) { return CheckProgram((*programs)[i]); },
      [&](size_t i, CheckResult result) {
        ++counts[static_cast<int>(result.outcome)];
        std::fputs(result.lines.c_str(), stdout);
        if (options.verbose && result.outcome == Outcome::kPassed) {
          std::printf("ok %s\n", (*programs)[i].name.c_str());
        }
        std::fflush(stdout);
      });
  std::printf("%d passed, %d failed, %d skipped\n", counts[0], counts[1],
              counts[2]);
  return counts[1] == 0 ? 0 : 1;
}

}  // namespace tenon::conformance
