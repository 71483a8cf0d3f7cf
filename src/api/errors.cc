#include "api/errors.h"

namespace tenon::api {

Errors ErrorsOf(const Diagnostics& diags) {
  Errors out;
  for (const Diagnostic& d : diags.all()) {
    if (d.severity != Severity::kError) continue;
    out.push_back({std::string(RuleId(d.rule)), d.place.ToString(), d.message});
  }
  // Only for want of memory is an error not kept.
  return out.empty() ? OutOfMemory() : out;
}

Errors OutOfMemory() {
  Errors out(1);
  out[0].rule = RuleId(Rule::kIo);
  out[0].message = "out of memory";
  return out;
}

}  // namespace tenon::api
