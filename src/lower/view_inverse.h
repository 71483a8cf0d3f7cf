// Views forwards and backwards: what an alias of a tensor shows, and what the
// tensor is when the alias has been written.
#pragma once

#include <optional>
#include <string_view>

#include "lower/node_builder.h"

namespace tenon::lower {

// How node `n` makes result `result` a view of its first argument.
enum class ViewKind : uint8_t {
  kNone,      // it doesn't: the result is a tensor of its own
  kIdentity,  // the very same tensor
  kView,      // other sizes, strides or offset
  kUnknown,   // it may or may not be a view, or of which argument isn't known
};
ViewKind ViewKindOf(const Program& program, NodeId n);

// `base` after its view by `n`, result `result`, has become `written`. Nothing
// for views that can't be written back.
std::optional<ValueId> PutBack(NodeBuilder& build, NodeId n, uint32_t result,
                               ValueId base, ValueId written);

}  // namespace tenon::lower
