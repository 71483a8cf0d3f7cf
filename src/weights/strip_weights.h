// Takes the weights out of a program; everything else stays.
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct StripOptions {
  // Tensor constants and buffers that aren't in the state dict, too.
  bool with_constants = false;
};

struct StripReport {
  size_t num_tensors = 0;
  uint64_t bytes = 0;  // of the storages taken out
  // What stays in or is lost although it holds weights, one sentence each.
  std::vector<std::string> notes;
};

// Storages of the state dict lose their bytes; names, kinds, types and sharing
// stay, and a record of the state's digest, so that ReplaceWeights can say
// whether it has put the same weights back. Refused by name: pickled weights,
// storages that a constant shares (without `with_constants`), programs whose
// file holds other methods, with weights of their own. On failure the program
// is unchanged.
Expected<StripReport> StripWeights(const StripOptions& options,
                                   Program* program, Diagnostics& diags);

}  // namespace tenon
