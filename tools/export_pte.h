// `tenon export -b portable`: what the verb export does for a .pte.
#pragma once

#include "command_line.h"
#include "console.h"

namespace tenon::tools {

// Whether the command line asks for ExecuTorch's portable kernels.
bool IsForPortable(const CommandLine& line);

ExitCode ExportToPte(const CommandLine& line, Console& console);

}  // namespace tenon::tools
