// Which inputs a region writes in place (rules D-4, M-1).
#pragma once

#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace tenon {

// One entry per input that an in-place operator of the root graph writes,
// directly or through views, with the output that is the written input itself.
// Fails when there is no such output: then the caller couldn't know of the
// write. Nested graphs must not write what they capture.
Expected<std::vector<DeclaredWrite>> FindDeclaredWrites(
    std::string_view backend, const Program& region, Diagnostics& diags);

// The arguments that the node's operator writes, by its schema.
std::vector<ValueId> WrittenOperands(const Program& program, NodeId node);

}  // namespace tenon
