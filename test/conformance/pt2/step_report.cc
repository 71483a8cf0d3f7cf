#include "conformance/pt2/step_report.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tenon::conformance {

void StepReport::Fail(std::string_view step, const Diagnostics& diags,
                      std::string_view otherwise) {
  for (const Diagnostic& diagnostic : diags.all()) {
    if (diagnostic.severity != Severity::kError) continue;
    Fail(step, diagnostic.ToString());
    return;
  }
  Fail(step, otherwise);
}

void StepReport::AddLine(std::string_view verdict, std::string_view step,
                         std::string_view why) {
  lines_.append(verdict).append(program_).append(": ").append(step);
  lines_.append(": ");
  // One line, whatever the message holds.
  for (const char c : why) lines_ += c == '\n' ? ' ' : c;
  while (lines_.ends_with(' ')) lines_.pop_back();
  lines_ += '\n';
}

CheckResult StepReport::Finish() && {
  if (lines_.empty()) lines_ = "ok " + program_ + "\n";
  return {outcome_, std::move(lines_)};
}

ScratchFolder::ScratchFolder() {
  std::error_code ignored;
  std::string name =
      std::filesystem::temp_directory_path(ignored) / "tenon-XXXXXX";
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace tenon::conformance
