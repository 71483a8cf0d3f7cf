// What a minor version of the schema can't say (rule V-FILE-11).
#pragma once

#include "diag/diagnostics.h"
#include "formats/pt2/release.h"
#include "ir/program.h"

namespace tenon {

// Fails, with an error for each node, value and spec, when the program needs
// words that the release's schema doesn't have. What it has no words for but
// what a program means without them (names of nodes, guards) is no error here.
Status CheckSchema(const Program& program, const Pt2Release& release,
                   Diagnostics& diags);

}  // namespace tenon
