// What must hold of one hybrid graph, step by step.
//
//   read     the file opens; or, where an error is due, opening or joining it
//            says what is wrong
//   text     printing and parsing the hybrid graph is the identity
//   join     joined, lifted, declared, proved; engines as delegates, and again
//            with engines inline
//   run      each recorded call gives what PyTorch got: values, containers,
//            state and inputs afterwards; state carries over
//   write    the written file has the same wiring digest and runs the same
//   cut      cut at random places over backends echo and cpu: runs the same
#pragma once

#include <string>

#include "conformance/pt2/run.h"

namespace tenon::conformance {

// Checks each NAME.json of a folder.
int RunHybrid(const std::string& folder, const RunOptions& options);

}  // namespace tenon::conformance
