// An export, tried out: both programs on the same random inputs (rule T-4).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comparison.h"
#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::tools {

struct TriedPlace {
  std::string what;  // "output 0", "mutation of k_cache", "region region_0.1"
  Comparison worst;  // over all runs
};

struct TriedExport {
  uint64_t num_runs = 0;
  std::vector<TriedPlace> places;

  bool is_close() const;
};

// Runs `source` and `result` on `num_runs` inputs drawn from the ranges: the
// smallest sizes, the largest, then random ones. Compared are every output, the
// state and the inputs that are written, and every region's results: a value of
// the result that has the wiring digest of a value of the source is that value.
// The state starts afresh for each run.
Expected<TriedExport> TryExport(const Program& source, const Program& result,
                                uint64_t num_runs, uint64_t seed,
                                Diagnostics& diags);

// One line per place.
std::string TriedAsText(const TriedExport& tried);

}  // namespace tenon::tools
