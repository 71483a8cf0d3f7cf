// Compares the state of two programs: by FQN, byte by byte.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tenon::tools {

struct StateDifference {
  std::string fqn;
  // "only in A", "only in B", "type", "kind", "bytes".
  std::string what;
  std::string a, b;  // both sides, where there are both
};

// In the order of A, then what only B has. Entries that share one FQN are
// paired in order. Bytes are compared where both programs hold them, element by
// element through the strides, so that layout of the storage plays no part.
std::vector<StateDifference> CompareState(const Program& a, const Program& b);

}  // namespace tenon::tools
