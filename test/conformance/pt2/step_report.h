// Collects what the steps of one program's check found.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "conformance/isolated.h"
#include "diag/diagnostics.h"

namespace tenon::conformance {

class StepReport {
 public:
  explicit StepReport(std::string program) : program_(std::move(program)) {}

  void Fail(std::string_view step, std::string_view why) {
    AddLine("FAIL ", step, why);
    outcome_ = Outcome::kFailed;
  }
  // Fails with the first error of `diags`, or `otherwise` where there is none.
  void Fail(std::string_view step, const Diagnostics& diags,
            std::string_view otherwise);
  // Says that the step wasn't possible. A program with a failed step has
  // failed all the same.
  void Skip(std::string_view step, std::string_view why) {
    AddLine("SKIP ", step, why);
    if (outcome_ == Outcome::kPassed) outcome_ = Outcome::kSkipped;
  }

  // "ok NAME" when nothing failed or was skipped.
  CheckResult Finish() &&;

 private:
  void AddLine(std::string_view verdict, std::string_view step,
               std::string_view why);

  std::string program_, lines_;
  Outcome outcome_ = Outcome::kPassed;
};

// A folder that is gone when this is.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // "" when the folder couldn't be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tenon::conformance
