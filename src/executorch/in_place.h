// Which results can be written where the state that they replace lies.
//
//   graph(%k = buffer "k", ..)
//     %k1 = aten.index_put(%k, ..)     %k1 lies in %k's memory: index_put_
//     %y = f(%k1)                      writes the few elements that change
//     return (mutation of "k": %k1, %y)
//
// A new state needs no copy when, by the time that its node runs, nothing reads
// the old one any more. The old state, and what views show of it, must be read
// by earlier nodes only, or by the node itself where its kernel reads every
// element before it writes it; a delegate never writes over what it reads,
// unless it says so itself (CompiledRegion::writes). Chains of updates lie in
// one place; where the last can't, none does, and the state is copied back at
// the end (M-2, M-3).
#pragma once

#include <vector>

#include "ir/program.h"

namespace tenon::executorch {

// Whether an output is what an input is after a call.
bool IsMutation(const OutputSpec& spec);

// By value: the root's input in whose memory a result lies; invalid: in none.
std::vector<ValueId> FindInPlace(const Program& program);

// Whether a kernel may write over its first argument: it reads each element
// before it writes the same one.
bool WritesOverSelf(std::string_view op);

// Outputs that would be read after the state that they show has been written
// become copies: the old value of a buffer, returned or stored elsewhere. The
// outputs must be those of a lowered program.
void CopyOldState(Program* program);

}  // namespace tenon::executorch
