// Diagnostics as text, JSON and SARIF, all three from the same records.
#pragma once

#include <string>

#include "diag/diagnostics.h"

namespace tenon::tools {

std::string FindingsAsText(const Diagnostics& diags, bool colors);

// {"errors": 1, "warnings": 0, "findings": [{"severity", "rule", "message",
// "place": {...}, "notes": [...]}]}. Absent parts of a place are left out.
std::string FindingsAsJson(const Diagnostics& diags);

// SARIF 2.1.0, for code hosts and editors. A place that is no text position
// becomes a logical location.
std::string FindingsAsSarif(const Diagnostics& diags);

}  // namespace tenon::tools
