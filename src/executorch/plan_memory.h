// Where the tensors of a method lie in its arena.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diag/diagnostics.h"
#include "executorch/plan_draft.h"
#include "memory/lifetime.h"
#include "support/expected.h"

namespace tenon::executorch {

// By block, as PlanDraft numbers them. A block lives from the first instruction
// that names one of its tensors to the last. Inputs live from the start,
// outputs to the end, state all the time. What a loop reads and didn't make in
// the same turn lives to the loop's end.
std::vector<Lifetime> FindLifetimes(const PlanDraft& draft);

// Gives every tensor of a planned block its place and the plan its arenas: the
// host's, then one for each device that has blocks.
// Returns what no plan can be smaller than (memory/memory_plan.h), in bytes.
// With `state_arena_bytes`, state that knows its offset lies in a second arena
// of that size.
Expected<uint64_t> PlaceBlocks(PlanDraft* draft,
                               std::optional<uint64_t> state_arena_bytes,
                               Diagnostics& diags);

}  // namespace tenon::executorch
