// An executable that interprets its region: what the echo and the reference
// backend load.
#pragma once

#include <memory>
#include <string_view>

#include "backends/backend.h"

namespace tenon {

// Reads a payload of `backend`. Null after an error.
Expected<std::unique_ptr<Executable>> LoadInterpretedRegion(
    std::string_view backend, Bytes payload, Diagnostics& diags);

}  // namespace tenon
