// Whether an engine that was handed in is the engine of a region (D-2, D-4).
#pragma once

#include <vector>

#include "diag/diagnostics.h"
#include "formats/tensorrt/engine_container.h"
#include "ir/delegate.h"
#include "region_blob/region_blob.h"
#include "support/expected.h"

namespace tenon {

// The number of bindings, and what they state of dtype, rank and sizes, must be
// the boundary's, position by position; a binding that is called as Tenon calls
// one must stand where that one does (TRT-02). Each alias must be one of the
// block's writes; a kv_cache_update is of a 4-d cache of fixed size, the only
// one that TensorRT updates in place (TRT-03). Returns the aliases as writes,
// by position.
Expected<std::vector<DeclaredWrite>> CheckEngine(
    const EngineContainer& container, const RegionBlob& region,
    int8_t cuda_device, const Place& place, Diagnostics& diags);

}  // namespace tenon
