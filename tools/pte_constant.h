// The values of constant methods, as a command line has them.
#pragma once

#include <string>
#include <vector>

#include "diag/diagnostics.h"
#include "executorch/export_pte.h"
#include "support/expected.h"

namespace tenon::tools {

// 7; 0.5, 1e-3, inf, nan; true, false; "text"; @FILE.npy, one tensor;
// @FILE.safetensors, all of its tensors in the file's order; [a, b], several of
// those.
Expected<std::vector<PteConstant>> ParsePteConstant(const std::string& text,
                                                    Diagnostics& diags);

}  // namespace tenon::tools
