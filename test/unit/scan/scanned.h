// What a scan of some bytes finds, for tests.
#pragma once

#include <string>

#include "diag/diagnostics.h"
#include "scan/scan.h"

namespace tenon {

struct Scanned {
  ScanReport report;
  Diagnostics found{10'000};

  // Whether there is a finding of that level and rule whose message contains
  // `part`.
  bool Has(Severity level, Rule rule, std::string_view part = {}) const {
    for (const Diagnostic& d : found.all()) {
      if (d.severity == level && d.rule == rule &&
          d.message.find(part) != std::string::npos) {
        return true;
      }
    }
    return false;
  }
  bool HasDanger(Rule rule, std::string_view part = {}) const {
    return Has(Severity::kError, rule, part);
  }
  bool HasCaution(Rule rule, std::string_view part = {}) const {
    return Has(Severity::kWarning, rule, part);
  }
  bool IsClean() const {
    return found.num_errors() == 0 && found.num_warnings() == 0;
  }
};

inline Scanned ScanText(std::string_view bytes,
                        const ScanOptions& options = {}) {
  Scanned out;
  out.report = ScanBytes(AsBytes(bytes), "file", options, out.found);
  return out;
}

}  // namespace tenon
