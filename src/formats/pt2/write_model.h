// Writes the JSON model of a program.
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/naming.h"
#include "ir/program.h"

namespace tenon {

// The text of models/<name>.json. What can't be carried over is told in
// `notes`.
Expected<std::string> WriteModel(const Program& program, const NameTable& names,
                                 std::vector<std::string>* notes,
                                 Diagnostics& diags);

// A pytree as the text that in_spec and out_spec hold.
std::string PrintTreeSpec(const TreeSpec& spec);

}  // namespace tenon
