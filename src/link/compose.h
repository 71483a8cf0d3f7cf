// Several programs as one: each a child that a plan calls, wired by position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

struct CompositionPlan {
  // What a call's argument or an output of the whole is.
  struct Wire {
    // Result `index` of call `call`; call -1: input `index` of the whole.
    int64_t call = -1;
    uint32_t index = 0;
  };
  struct Call {
    uint32_t part = 0;
    std::vector<Wire> args;  // one per user input of the part
  };

  std::vector<const Program*> parts;  // lifted programs of one context
  std::vector<std::string> part_names;
  std::vector<Call> calls;
  std::vector<Wire> outputs;
  // One per input of the whole, or none.
  std::vector<std::string> input_names;
};

// A hybrid program whose root calls the parts; JoinProgram makes one program of
// it. A part's user inputs and outputs are its child's; its mutations become
// writes in place (M-1). A part that is called again is one child over one
// state, unless its types differ by then.
//
// State of different parts is never merged: of two entries under one FQN the
// later gets a suffix, "weight_1" (J-9), told in a note. Symbols of a part are
// replaced by the sizes that its call passes, and ranges intersect;
// symbols that a part makes itself stay its own.
Expected<Program> Compose(const CompositionPlan& plan, Diagnostics& diags);

}  // namespace tenon
