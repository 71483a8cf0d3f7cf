// Rewrite rules applied until none applies (rewrite_rules.h).
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "lower/rewrite_rules.h"
#include "support/expected.h"

namespace tenon::lower {

// In all graphs that the root reaches, delegates' sources left out. Returns how
// many nodes were replaced.
Expected<uint32_t> Decompose(Program* program, RuleStage stage,
                             Diagnostics& diags);

}  // namespace tenon::lower
