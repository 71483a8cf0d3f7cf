// What an export to a .pte says: as text, as JSON, and as a picture of memory.
#pragma once

#include <string>

#include "executorch/export_pte.h"
#include "formats/pte/pte_program.h"

namespace tenon::tools {

std::string PteReportAsText(const PteExportReport& report);
std::string PteReportAsJson(const PteExportReport& report);

// All arenas of all methods. Methods with jumps that cross each other, and
// those without planned tensors, are left out.
std::string PteMemoryAsSvg(const PteProgram& program);

}  // namespace tenon::tools
