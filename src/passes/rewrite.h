// Passes in one go: what is asked for, in the order in which it makes sense.
//
//   1 fold    nodes of constants become constants   (fold_constants.h)
//   2 clean   nodes without use go                  (remove_dead_code.h)
//   3 move    the program is one for another device (move_device.h)
//   4 name    outputs get names                     (name_outputs.h)
//
// After each that ran all rules hold, which is checked. What these passes give
// has another wiring digest than their source (T-3); an export proves itself
// against it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "passes/fold_constants.h"
#include "passes/move_device.h"
#include "support/expected.h"

namespace tenon {

struct RewriteOptions {
  bool fold_constants = false;
  FoldConstantsOptions fold;
  bool remove_dead_code = false;
  std::optional<MoveDeviceOptions> move;
  std::vector<std::string> output_names;  // none: outputs keep theirs

  bool any() const {
    return fold_constants || remove_dead_code || move || !output_names.empty();
  }
};

// What was done, a sentence for each pass and for what is worth knowing. On
// failure the program is unchanged. The source isn't verified when nothing is
// asked for.
Expected<std::vector<std::string>> Rewrite(Program* program,
                                           const RewriteOptions& options,
                                           Diagnostics& diags);

}  // namespace tenon
