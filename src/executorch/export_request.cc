#include "executorch/export_request.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "executorch/delegate_regions.h"

namespace tenon::executorch {
namespace {

bool IsIdentifier(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9');
         });
}

class RequestCheck {
 public:
  explicit RequestCheck(Diagnostics& diags) : diags_(diags) {}

  void CheckName(const std::string& name) {
    if (!IsIdentifier(name)) {
      Error() << "'" << name
              << "' is no name for a method: letters, digits and underscores "
                 "make one, and no digit begins it";
    } else if (!names_.insert(name).second) {
      Error() << "method '" << name << "' is given twice";
    }
  }

  // Words for a backend that the method doesn't use would be lost.
  void CheckBackendOptions(const PteMethod& method) {
    for (const PteBackendOption& option : method.options.backend_options) {
      const Backend* backend = FindDelegateBackend(option.backend);
      const auto& used = method.options.backends;
      if (backend != nullptr &&
          std::find(used.begin(), used.end(), backend) != used.end()) {
        continue;
      }
      is_fine_ = false;
      diags_.Error(Rule::kUsage, Place::Node(method.name))
          << "a word '" << option.key << "' for backend '" << option.backend
          << "', which the method isn't given to";
    }
  }

  DiagnosticBuilder Error() {
    is_fine_ = false;
    return diags_.Error(Rule::kPte17);
  }
  Status Finish() const { return is_fine_ ? Status() : Status(Failure{}); }

 private:
  Diagnostics& diags_;
  std::set<std::string, std::less<>> names_;
  bool is_fine_ = true;
};

}  // namespace

Status CheckRequest(std::span<const PteMethod> methods,
                    const PteFileOptions& options, Diagnostics& diags) {
  TENON_TRY(CheckPteNames(methods, options, diags));
  RequestCheck check(diags);
  for (const PteMethod& method : methods) check.CheckBackendOptions(method);
  return check.Finish();
}

}  // namespace tenon::executorch

namespace tenon {

Status CheckPteNames(std::span<const PteMethod> methods,
                     const PteFileOptions& options, Diagnostics& diags) {
  executorch::RequestCheck check(diags);
  if (methods.empty() && options.constants.empty()) {
    check.Error() << "there is no method to write";
  }
  for (const PteMethod& method : methods) check.CheckName(method.name);
  for (const PteConstantMethod& method : options.constants) {
    check.CheckName(method.name);
  }
  return check.Finish();
}

}  // namespace tenon
