// What must hold of one program of the corpus, step by step.
//
//   read       the file opens
//   verify     no rule is broken
//   text       printing and parsing is the identity
//   write      the written file has the same wiring digest, and writing again
//              gives the same bytes; for every release of PyTorch, too, unless
//              it is refused by V-FILE-11
//   run        each recorded call gives what PyTorch got: values, containers,
//              state and inputs afterwards
//   cut        cut at random places, through backends echo and cpu, joined
//              again: the wiring digest and the results are the same
#pragma once

#include "conformance/isolated.h"
#include "conformance/pt2/manifest.h"

namespace tenon::conformance {

// One line "FAIL name: step: why" for each step that failed. A program that
// calls an operator without a kernel is skipped, with a line that names the
// operators, unless another step failed.
CheckResult CheckProgram(const CorpusProgram& program);

}  // namespace tenon::conformance
