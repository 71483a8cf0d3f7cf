// Whether a backend computes what was recorded of an operator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "ops/schema.h"
#include "tensor/value.h"

namespace tenon {

struct DelegatedCounts {
  int agreed = 0;
  int refused = 0;  // the backend doesn't take the call
};

// The results of the call, as a region of one node of `backend`; `results` are
// the kernel's, of whose types they are. Nullopt with an empty `why` when the
// backend refuses the node, or the operator writes, draws or gives other things
// than tensors; with a message when it takes the node and fails.
std::optional<std::vector<RuntimeValue>> RunDelegated(
    const Backend& backend, const OpSchema& schema,
    const std::vector<RuntimeValue>& args, const std::vector<bool>& present,
    const std::vector<RuntimeValue>& results, std::string* why);

}  // namespace tenon
