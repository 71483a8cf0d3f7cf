// When the tensors of a method need their memory: from its instructions, to
// plan it anew or to say how good its plan is.
//
// Step 0 sets the inputs, step i + 1 is instruction i, the step behind the last
// one reads the outputs. Jumps back are loops, pairs of jumps forward are the
// branches of a choice (memory/control_flow.h). Of tensors that stand for
// others' memory (moves, dynamic views, tensors that nothing writes and that
// lie exactly where another does) only the others have a lifetime, which is
// that of all of them. What is read before anything wrote it is state, and
// lives through the whole method.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/pte/pte_program.h"
#include "memory/lifetime.h"

namespace tenon {

struct PteMethodLifetimes {
  // By lifetime: tensors that lie in this place, at least one. Several are the
  // results of branches that become one value.
  std::vector<std::vector<int32_t>> values;
  std::vector<Lifetime> lifetimes;  // without fixed offsets
};

// For a method with one chain that VerifyPte has nothing against. `alignment`
// of all tensors, in bytes. Nothing when jumps cross each other.
std::optional<PteMethodLifetimes> FindLifetimes(const PtePlan& plan,
                                                uint64_t alignment);

}  // namespace tenon
