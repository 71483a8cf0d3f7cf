// One layout for all: every tensor of the program has its dimensions in order,
// without gaps.
//
// Values are copies of each other, never views, so strides mean nothing but the
// place of an element. Stored tensors that lie otherwise are stored again.
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::lower {

// Types of all values, and stored tensors. Operators that look at strides must
// be gone, except as_strided_copy of what was contiguous before.
Status LayOutContiguously(Program* program, Diagnostics& diags);

}  // namespace tenon::lower
