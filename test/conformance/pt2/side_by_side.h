// A program's results beside the recorded ones, for a person to look at.
#pragma once

#include <string>

namespace tenon::conformance {

// Calls the program of `file` as the entry `name` of the manifest was called
// and prints, for each output, the first numbers of both sides and the largest
// difference; at the end whether all is within the recorded tolerance, state
// and containers included. Zero when it is, 1 when not, 2 when something can't
// be read.
int ShowSideBySide(const std::string& manifest, const std::string& name,
                   const std::string& file);

}  // namespace tenon::conformance
