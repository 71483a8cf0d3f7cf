// An export's report for people and for programs.
#pragma once

#include <string>

#include "export/report.h"

namespace tenon::tools {

struct ReportTextOptions {
  bool explain = false;  // why nodes stayed in the graph, grouped
  bool phases = false;   // what each phase took
};

std::string ReportAsText(const ExportReport& report,
                         const ReportTextOptions& options);
// Everything; times only when asked for, so that same input gives same bytes.
std::string ReportAsJson(const ExportReport& report, bool with_phases);

}  // namespace tenon::tools
