#include "conformance/isolated.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

namespace tenon::conformance {
namespace {

std::vector<CheckResult> RunAll(
    size_t count, const IsolationOptions& options,
    const std::function<CheckResult(size_t)>& check) {
  std::vector<CheckResult> results;
  RunIsolated(
      count, options, [](size_t i) { return "p" + std::to_string(i); }, check,
      [&](size_t i, CheckResult result) {
        EXPECT_EQ(i, results.size());
        results.push_back(std::move(result));
      });
  return results;
}

TEST(RunIsolated, ReportsInOrderWhateverFinishesFirst) {
  IsolationOptions options;
  options.jobs = 4;
  const auto results = RunAll(8, options, [](size_t i) {
    usleep(static_cast<useconds_t>((8 - i) * 2000));
    return CheckResult{i % 2 == 0 ? Outcome::kPassed : Outcome::kSkipped,
                       "line " + std::to_string(i) + "\n"};
  });
  ASSERT_EQ(results.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(results[i].lines, "line " + std::to_string(i) + "\n");
    EXPECT_EQ(results[i].outcome,
              i % 2 == 0 ? Outcome::kPassed : Outcome::kSkipped);
  }
}

TEST(RunIsolated, ADeathIsAFailureThatNamesTheSignal) {
  const auto results = RunAll(2, IsolationOptions(), [](size_t i) {
    if (i == 0) raise(SIGKILL);
    return CheckResult{Outcome::kPassed, ""};
  });
  EXPECT_EQ(results[0].outcome, Outcome::kFailed);
  EXPECT_EQ(results[0].lines, "FAIL p0: process: died of Killed\n");
  EXPECT_EQ(results[1].outcome, Outcome::kPassed);
}

TEST(RunIsolated, AnUnknownExitStatusIsAFailure) {
  const auto results =
      RunAll(1, IsolationOptions(), [](size_t) -> CheckResult { _exit(77); });
  EXPECT_EQ(results[0].outcome, Outcome::kFailed);
  EXPECT_EQ(results[0].lines, "FAIL p0: process: exit status 77\n");
}

TEST(RunIsolated, AHangIsStoppedAndFails) {
  IsolationOptions options;
  options.timeout_seconds = 1;
  const auto results = RunAll(1, options, [](size_t) -> CheckResult {
    for (;;) pause();
  });
  EXPECT_EQ(results[0].outcome, Outcome::kFailed);
  EXPECT_EQ(results[0].lines, "FAIL p0: process: ran out of time\n");
}

TEST(RunIsolated, LongOutputArrivesWhole) {
  const std::string line(300'000, 'x');
  const auto results = RunAll(1, IsolationOptions(), [&](size_t) {
    return CheckResult{Outcome::kPassed, line};
  });
  EXPECT_EQ(results[0].lines, line);
}

}  // namespace
}  // namespace tenon::conformance
