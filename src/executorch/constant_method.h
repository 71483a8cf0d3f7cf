// Methods that take nothing and return what is known at export: the end tokens
// of a vocabulary, the length of a context.
#pragma once

#include "diag/diagnostics.h"
#include "executorch/export_pte.h"
#include "executorch/weights.h"
#include "support/expected.h"

namespace tenon::executorch {

// A plan without instructions whose outputs are its values. Tensors are
// constants of the file, contiguous.
Expected<PtePlan> MakeConstantMethod(const PteConstantMethod& method,
                                     Weights* weights, Diagnostics& diags);

}  // namespace tenon::executorch
