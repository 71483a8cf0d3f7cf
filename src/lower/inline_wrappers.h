// Wrappers that only hold a graph give way to its nodes:
//
//   %y = higher_order.wrap_with_set_grad_enabled(False, @body, %x)
//   becomes the nodes of @body on %x
//
// Gradients aren't computed here, and autocast that is switched off does
// nothing; autocast that is on stays, and so do graphs under control flow.
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::lower {

Status InlineWrappers(Program* program, Diagnostics& diags);

}  // namespace tenon::lower
