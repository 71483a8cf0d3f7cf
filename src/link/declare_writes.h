// In-place writes, made visible where a consumer looks for them: in the
// declarations of delegates (D-4) and in the signature (L-6, M-1).
#pragma once

#include <vector>

#include "ir/program.h"

namespace tenon {

// Every input that a delegate's source graph writes in place gets a declared
// write; where no output is the written input, one is appended, to the
// delegate and to its calls. State must be lifted out of the sources.
void DeclareDelegateWrites(Program* program);

// Appends to an outlined child, and to the results of its only call, each input
// that the child writes in place and doesn't return: what a backend that
// compiles it has to declare. Gives the call, another one if it got results.
NodeId ReturnWrittenInputs(Program* program, GraphId parent, NodeId call);

// Every buffer, parameter and user input of the lifted root graph that is
// written in place and isn't the target of a mutation output gets one: the
// result of the last write to it. Its value is the storage itself, so that a
// consumer that knows of aliasing has nothing to do, and one that doesn't
// copies back (M-2). In the order of the inputs, before the user outputs.
// Constants have no such output; writes to them stay in place.
void DeclareMutations(Program* program);

// An input of the root, buffer, parameter or user input, and what it is after
// a call.
struct InputMutation {
  uint32_t input = 0;
  ValueId value;
};
// Adds mutation outputs, before the user outputs and those that are there.
void DeclareInputMutations(Program* program,
                           const std::vector<InputMutation>& mutations);

}  // namespace tenon
