// In-place operators become operators with results.
//
//   %v = aten.slice(%x, 0, 0, 2)     %v = aten.slice(%x, 0, 0, 2)
//   aten.add_(%v, 1)            ->   %w = aten.add.Tensor(%v, 1)
//   %y = aten.neg(%x)                %x1 = aten.slice_scatter(%x, %w, 0, 0, 2)
//                                    %y = aten.neg(%x1)
//
// A write to a view is put back into what it is a view of, up to the storage's
// first name; another view of the same storage is taken anew where it is read
// next (M-5). So no value changes any more, and what a written input has become
// is an output of the signature, which DeclareMutations must have declared.
#pragma once

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon::lower {

// The root graph and those under control flow. Fails, with the program in an
// unknown state, on a write that can't be put back, and on a graph under
// control flow that writes what it was given.
Status Functionalize(Program* program, Diagnostics& diags);

}  // namespace tenon::lower
