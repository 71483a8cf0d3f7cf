// Storages that several state entries see, against what a .pt2 can say of them.
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

// A .pt2 keeps the state dict and the constants apart (L-4), and a record of
// either is read as one dtype. Entries over one storage that lie on both sides,
// or are of two dtypes, would come back over a storage each: what is written to
// one, the other would no longer see (T-2). Reports each such storage once,
// with both entries and what to do.
Status CheckSharing(const Program& program, Diagnostics& diags);

}  // namespace tenon
