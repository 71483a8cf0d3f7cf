// `tenon export -b portable`: what the verb export does for a .pte.
#pragma once

#include <string_view>

#include "command_line.h"
#include "console.h"

namespace tenon::tools {

// Whether the command line asks for ExecuTorch's portable kernels.
bool IsForPortable(const CommandLine& line);

// An option of the command line that only a .pte has; "" when there is none.
std::string_view OptionForPortable(const CommandLine& line);

ExitCode ExportToPte(const CommandLine& line, Console& console);

}  // namespace tenon::tools
