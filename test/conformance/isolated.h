// Checks in child processes: a crash or a hang costs one line, not the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tenon::conformance {

enum class Outcome : uint8_t { kPassed, kFailed, kSkipped };

struct CheckResult {
  Outcome outcome = Outcome::kFailed;
  std::string lines;  // each ends in a newline
};

struct IsolationOptions {
  int jobs = 1;               // checks at the same time
  int timeout_seconds = 300;  // of one check; then it failed
};

// Calls check(i) for each i < count in a process of its own, and
// on_result(i, result) here, in order. A check that dies or runs out of time
// has failed with a line that says so; `name(i)` stands in that line.
void RunIsolated(size_t count, const IsolationOptions& options,
                 const std::function<std::string(size_t)>& name,
                 const std::function<CheckResult(size_t)>& check,
                 const std::function<void(size_t, CheckResult)>& on_result);

}  // namespace tenon::conformance
