#include "verdict.h"

namespace tenon::tools {
namespace {

bool PreventsJudgement(Rule rule) {
  return rule == Rule::kUsage || rule == Rule::kIo ||
         rule == Rule::kUnsupported;
}

}  // namespace

ExitCode ExitCodeOf(const Diagnostics& diags) {
  if (!diags.has_errors()) return ExitCode::kFine;
  for (const Diagnostic& d : diags.all()) {
    if (d.severity == Severity::kError && PreventsJudgement(d.rule)) {
      return ExitCode::kNoVerdict;
    }
  }
  return ExitCode::kFinding;
}

ExitCode Finish(const Diagnostics& diags, Console& console) {
  console.Report(diags);
  return ExitCodeOf(diags);
}

ExitCode FailUsage(std::string_view message, Console& console) {
  Diagnostics diags;
  diags.Error(Rule::kUsage) << message;
  return Finish(diags, console);
}

}  // namespace tenon::tools
