// The one way in which verbs write programs.
#pragma once

#include <string>

#include "command_line.h"
#include "console.h"
#include "diag/diagnostics.h"
#include "formats/pt2/pt2.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::tools {

// The option of every verb that writes a .pt2.
inline constexpr Option kTorchOption = {
    "--torch", 0, "VERSION",
    "The PyTorch release that has to open the .pt2, 2.6 or later: its archive "
    "layout and schema are written, and what they can't say is an error. "
    "Default: the layout of 2.9, the schema that the program came with."};

// How --torch wants a .pt2 at `path` written.
Expected<Pt2WriteOptions> Pt2OptionsOf(const CommandLine& line,
                                       const std::string& path,
                                       Diagnostics& diags);

// A .pt2, read back and proved before it appears; or, where the name ends in
// ".tenon", the text form with large weights and payloads in FILE.bin beside
// it. What a .pt2 changes on purpose is said on stderr; `options` are for it.
Status WriteProgram(const Program& program, const std::string& path,
                    const Pt2WriteOptions& options, Console& console,
                    Diagnostics& diags);

// Says on stderr what a written .pt2 changes on purpose.
void ShowNotes(const Pt2WriteReport& report, Console& console);

// A whole file of text, or none.
Status WriteTextFile(const std::string& path, std::string_view text,
                     Diagnostics& diags);

}  // namespace tenon::tools
