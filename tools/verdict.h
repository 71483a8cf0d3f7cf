// From what was found to how the tool ends.
#pragma once

#include <string_view>

#include "command_line.h"
#include "console.h"
#include "diag/diagnostics.h"

namespace tenon::tools {

// kFine without errors. kNoVerdict when an error says that nothing could be
// judged (usage, I/O, unsupported), else kFinding.
ExitCode ExitCodeOf(const Diagnostics& diags);

// Reports to stderr and returns ExitCodeOf: the end of most verbs.
ExitCode Finish(const Diagnostics& diags, Console& console);

// Ends a verb over a wrong command line that its table can't express.
ExitCode FailUsage(std::string_view message, Console& console);

}  // namespace tenon::tools
