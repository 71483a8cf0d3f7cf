// Pytree specs as text: `*` for a leaf, (*, *), [*], {k: *}; other containers
// as `type "collections.deque" context "null" (*, *)`.
#pragma once

#include <string>

#include "ir/tree_spec.h"

namespace tenon {

void AppendTree(const TreeSpec& spec, std::string* out);

}  // namespace tenon
