// Names for what a program returns.
//
//   graph @main(%samples) {              graph @main(%samples) {
//     %mul = ...                           %mul -> renamed: %scaled = ...
//     return (%mul, %samples)      ->      %kept = aten.alias(%samples)
//                                          return (%scaled, %kept)
//
// A file names an output by the value that it returns. A value that only nodes
// of the graph know is relabelled; an input (it keeps its name: callers pass by
// it), and a value that already bears the name of an earlier output, is
// returned through aten.alias, a view of all of it. Some other value that bears
// one of the names gets another label.
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// One name per user output, in order; "" leaves an output as it is. Errors, all
// kUsage: another number of names, a name that is no Python identifier or an
// input's, one name twice, a name for an output that is no tensor and can't be
// relabelled (a literal, an input that is a number). On failure the program is
// unchanged.
Status NameOutputs(const std::vector<std::string>& names, Program* program,
                   Diagnostics& diags);

}  // namespace tenon
