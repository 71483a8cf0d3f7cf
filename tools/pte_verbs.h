// What verbs do with ExecuTorch programs. A .pte isn't lowered to Tenon's own
// program: it is read, checked, shown and compared as what it is.
#pragma once

#include <optional>
#include <string>

#include "command_line.h"
#include "console.h"
#include "diag/diagnostics.h"

namespace tenon::tools {

// Whether the file is a .pte, by its first bytes. False, too, when it can't be
// read; whoever reads it next says why.
bool IsPte(const std::string& path);

// The verbs of these names over a .pte, with their command lines.
ExitCode InfoPte(const CommandLine& line, Console& console);
ExitCode DisPte(const CommandLine& line, Console& console);
ExitCode DiffPte(const CommandLine& line, Console& console);

// Reads the .pte and checks it, with the data files in --data. The number of
// its instructions, or nothing after errors.
std::optional<size_t> ReadAndVerifyPte(const std::string& path,
                                       const CommandLine& line,
                                       Diagnostics& diags);

}  // namespace tenon::tools
