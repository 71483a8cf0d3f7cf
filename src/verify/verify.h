// The verifier: what must hold of every program (docs/rules.md).
#pragma once

#include <cstddef>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct VerifyOptions {
  bool lint = false;  // also W- warnings
};

// Reports every violation, up to the sink's bound: rule id, place, what was
// found, what was expected, and a note at the other place. Fails when an error
// was reported. Survives any program that the IR can hold, and changes nothing.
Status Verify(const Program& program, const VerifyOptions& options,
              Diagnostics& diags);

}  // namespace tenon
