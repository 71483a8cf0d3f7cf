// The main job: partition, outline, compile, join, lift, prove.
//
// Phases; after each that changes the program, all rules hold again:
//   1 verify     the source holds all rules
//   2 partition  which nodes each backend takes, grouped into regions
//   3 outline    each region becomes a child graph and a call
//   4 compile    each child becomes a payload; its call a delegate call
//   5 join       children without a payload go back into place, by position
//   6 lift       state references become signature entries
//   7 prove      the result has the source's wiring digest
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "export/report.h"
#include "formats/pt2/pt2.h"
#include "ir/program.h"
#include "partition/partition.h"
#include "support/expected.h"

namespace tenon {

struct ExportOptions {
  // Most preferred first. Empty: regions are cut (by `cut_seed`), joined back
  // unchanged, and the result is the source program again (--backend none).
  std::vector<BackendRequest> backends;
  BackendOptions backend_options;
  // A region whose compilation fails goes back to plain operators, with the
  // reason in the report; false: the export fails (D-7).
  bool allow_fallback = true;
  // Regions given by the caller, for the first backend: lists of nodes of the
  // root graph. Nothing else is cut. Regions that overlap, or that leave a
  // cycle when contracted, fail the export (P-1).
  std::vector<std::vector<NodeId>> fixed_regions;
  // Regions are cut at random places instead of by what backends take: each
  // node gets one of `num_colors` backends or none. For tests; 0 = off.
  uint32_t num_random_colors = 0;
  uint64_t cut_seed = 0;
  // Ends after this phase's name, leaving the program as it is then; "" = all.
  std::string stop_after;
  // Called as each region is compiled: index, count, name.
  std::function<void(size_t, size_t, const std::string&)> progress;
};

// Changes `program` into the hybrid program. On failure it is unchanged.
Expected<ExportReport> ExportProgram(Program* program,
                                     const ExportOptions& options,
                                     Diagnostics& diags);

// Writes the program as .pt2, and before the file gets its name opens it again,
// verifies what was read, and proves it equal to `program` (T-2). When that
// fails nothing is written and the reasons are reported.
Expected<Pt2WriteReport> WriteProved(const Program& program,
                                     const std::string& path,
                                     const Pt2WriteOptions& options,
                                     Diagnostics& diags);

// Whether two programs have one wiring digest (T-2). When not, reports the
// first output, mutation or effect in which they part, from both sides.
Status ProveEqual(const Program& source, const Program& result,
                  Diagnostics& diags);

}  // namespace tenon
