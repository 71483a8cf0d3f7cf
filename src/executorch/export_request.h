// What is asked of an export, checked before any work is done.
#pragma once

#include <span>

#include "diag/diagnostics.h"
#include "executorch/export_pte.h"
#include "support/expected.h"

namespace tenon::executorch {

// Names (CheckPteNames), and whether backends get words that use them.
Status CheckRequest(std::span<const PteMethod> methods,
                    const PteFileOptions& options, Diagnostics& diags);

}  // namespace tenon::executorch
