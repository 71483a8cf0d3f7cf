// Mutations of the signature as writes in place, the other form of one program
// (M-1); link/declare_writes.h leads back.
#pragma once

#include "ir/program.h"

namespace tenon {

// Every mutation output of the lifted program becomes a copy_ into its target
// at the end of the graph, unless its value is the target, written in place
// already. Outputs that share the target's storage keep the value that they
// had.
void WriteMutationsInPlace(Program* program);

}  // namespace tenon
