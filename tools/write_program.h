// The one way in which verbs write programs.
#pragma once

#include <string>

#include "console.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::tools {

// A .pt2, read back and proved before it appears; or, where the name ends in
// ".tenon", the text form with large weights and payloads in FILE.bin beside
// it. What a .pt2 changes on purpose is said on stderr.
Status WriteProgram(const Program& program, const std::string& path,
                    Console& console, Diagnostics& diags);

// A whole file of text, or none.
Status WriteTextFile(const std::string& path, std::string_view text,
                     Diagnostics& diags);

}  // namespace tenon::tools
