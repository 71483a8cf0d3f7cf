// What must hold of the acceptance cases from public bug reports.
//
//   read     the file opens and verifies; or, where it is damaged, is refused
//   facts    what the case says of state, signature, names, sizes; facts.cc
//   lists
//            those that it does not check, with the reason
//   run      each recorded call gives what PyTorch got, on one instance; calls
//            that must be refused are, with the state as before
//   write    written and read again: same digest, same results, same facts
//   passes   folded, cleaned, moved, renamed, where the case asks for it;
//            passes.h lists
//   regions  cut at the case's own regions, compiled, joined: same results; a
//            hint that can't be is refused
//   join     several files wired by the case's plan, strictly by position
#pragma once

#include <string>

#include "conformance/pt2/run.h"

namespace tenon::conformance {

// `manifest` is that of ../shared/corpus/bugs, whose `about` describes it.
int RunBugs(const std::string& manifest, const RunOptions& options);

}  // namespace tenon::conformance
