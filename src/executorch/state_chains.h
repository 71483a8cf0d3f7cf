// Buffers that delegates update one after the other.
//
//   %k1 = delegate a(%k, ..)      %k1 can lie where %k does, and %k2 where %k1
//   %k2 = delegate b(%k1, ..)     does: one place from call to call, and no
//   return (mutation of "k": %k2) byte is copied
//
// A call may write its result over an argument when it's the last to read that
// argument, and when nothing else that it gives shows either of them. Which
// argument a result continues is what its region says: the first operands, from
// the result back to an input.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace tenon::executorch {

// Result `output` of the call may lie where argument `input` does.
struct StateLink {
  NodeId call;
  uint32_t input = 0, output = 0;
};

// From the buffer's value at the start to what the call leaves in it. At least
// one link.
struct StateChain {
  ValueId start;
  std::vector<StateLink> links;  // in the order of the calls
};

// Of a lowered program with calls of child graphs or of delegates that know
// their source. Buffers that anything else writes are in no chain.
std::vector<StateChain> FindStateChains(const Program& program);

}  // namespace tenon::executorch
