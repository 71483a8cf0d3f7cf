// Hybrid graphs from outside become one signed program: join, lift, declare,
// prove.
//
// Phases; after each, all rules hold (see `verify_each_phase`):
//   1 verify   the hybrid graph holds all rules
//   2 join     children stand where they were called (J); with
//              `inline_delegates` those of delegates, too
//   3 lift     state references become signature entries, also those of nested
//              graphs and of delegates' sources (L)
//   4 declare  in-place writes become declared writes and mutations (D-4, M)
//   5 prove    the result has the hybrid graph's wiring digest (T-2)
//
// Engine calls of Torch-TensorRT are delegate calls from the start: each record
// says what its engine is, and comes back the same when it is written.
#pragma once

#include <string>

#include "diag/diagnostics.h"
#include "export/report.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct JoinProgramOptions {
  // Delegates whose graph is known become plain operators again.
  bool inline_delegates = false;
  // With it: delegates whose graph isn't known stay calls; else they are an
  // error.
  bool keep_unknown_delegates = false;
  // Ends after this phase's name, leaving the program as it is then; "" = all.
  std::string stop_after;
  // All rules hold after every phase, and with this they are checked there, so
  // that a phase that breaks one is told from those behind it: for tests, and
  // for whoever changes a phase. Otherwise they are checked where a program
  // comes in and where it goes out: what comes out broken is an error either
  // way, and each check costs more than the phase it follows.
  bool verify_each_phase = false;
};

// Changes the hybrid program into a flat, signed one. On failure it is
// unchanged (J-11).
Expected<ExportReport> JoinProgram(Program* program,
                                   const JoinProgramOptions& options,
                                   Diagnostics& diags);

}  // namespace tenon
