// Nodes whose results nobody uses, taken out (rule J-5: only on request).
//
//   %a = relu(%x)                    %b = add(%x, 1)
//   %b = add(%x, 1)           ->     %c = add_(%x, 1)
//   %c = add_(%x, 1)                 return (%b)
//   return (%b)
//
// A node stays when one of its results is used, and for its effects (the
// `effects.h` of analysis): writes, draws of random numbers, asserts, operators
// that may do anything, also those of the graphs that it holds or calls. Calls
// of delegates always stay, since all that is known of one is what it declares.
// A node that introduces a symbol which a type elsewhere mentions stays, too.
//
// Nested graphs and children are cleaned inside; what they take and return
// stays, as do the program's inputs, outputs, state and ranges. What delegates
// were compiled from is left as it is. A graph that nobody holds any more goes.
// An operation that merely looks as if it did nothing (add 0, mul 1, clone) is
// not dead code: its result is a tensor of its own, and what it was made of may
// be written later.
//
// Linear in nodes and arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tenon {

struct RemoveDeadCodeReport {
  uint32_t num_nodes = 0;   // taken out, those of erased graphs not counted
  uint32_t num_graphs = 0;  // erased, because nothing holds them any more
  std::vector<std::string> notes;
};

// Only for programs that the verifier accepts.
RemoveDeadCodeReport RemoveDeadCode(Program* program);

}  // namespace tenon
