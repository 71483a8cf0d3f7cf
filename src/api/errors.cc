#include "api/errors.h"

namespace tenon::api {

Errors ErrorsOf(const Diagnostics& diags) {
  Errors out;
  for (const Diagnostic& d : diags.all()) {
    if (d.severity != Severity::kError) continue;
    out.push_back({std::string(RuleId(d.rule)), d.place.ToString(), d.message});
  }
  if (out.empty()) out.push_back({"", "", "failed without a reason"});
  return out;
}

}  // namespace tenon::api
