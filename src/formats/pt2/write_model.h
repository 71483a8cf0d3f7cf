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

// A JSON document of the program with the members that its reader didn't know,
// where their records are still there; each is told in `notes`. `prefix` tells
// the documents apart as in FileInfo::unknown_members. Before schema 8.14,
// whose readers refuse what they don't know, they are left out.
std::string WithUnknownMembers(const Program& program, std::string_view prefix,
                               int64_t minor, std::string text,
                               std::vector<std::string>* notes);

// A pytree as the text that in_spec and out_spec hold.
std::string PrintTreeSpec(const TreeSpec& spec);

}  // namespace tenon
