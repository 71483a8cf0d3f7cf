// Where the tensors of a method lie in its arena.
#pragma once

#include "diag/diagnostics.h"
#include "executorch/plan_draft.h"
#include "support/expected.h"

namespace tenon::executorch {

// When a block's bytes are needed: from instruction `first` to `last`, both
// included.
struct BlockLifetime {
  uint64_t size_bytes = 0;
  uint32_t first = 0, last = 0;
};

// By block, as PlanDraft numbers them. A block lives from the first instruction
// that names one of its tensors to the last. Inputs live from the start,
// outputs to the end, state all the time. What a loop reads and didn't make in
// the same turn lives to the loop's end.
std::vector<BlockLifetime> FindLifetimes(const PlanDraft& draft);

struct BlockLayout {
  std::vector<uint64_t> offsets;  // by lifetime, multiples of 16
  uint64_t size_bytes = 0;
};
// Two blocks share bytes only when their lifetimes don't meet.
BlockLayout LayOutBlocks(const std::vector<BlockLifetime>& lifetimes);

// Gives every tensor of a planned block its place and the plan its arenas.
Status PlaceBlocks(PlanDraft* draft, Diagnostics& diags);

}  // namespace tenon::executorch
