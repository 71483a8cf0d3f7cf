// Writes the JSON model of a program.
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/pt2/release.h"
#include "ir/naming.h"
#include "ir/program.h"

namespace tenon {

// The minor version of the schema in a file for `release`; for null, the
// program's own or the first that goes with layout C.
int64_t MinorToWrite(const Program& program, const Pt2Release* release);

// The text of models/<name>.json, in schema 8.`minor`. What can't be carried
// over is told in `notes`.
Expected<std::string> WriteModel(const Program& program, const NameTable& names,
                                 int64_t minor, std::vector<std::string>* notes,
                                 Diagnostics& diags);

// A pytree as the text that in_spec and out_spec hold.
std::string PrintTreeSpec(const TreeSpec& spec);

}  // namespace tenon
