// Leaves of a calling convention as Python would reach them.
//
//   forward(x, *, past: Cache(keys=[a, b], values=[c, d]))
//     x, past.keys[0], past.keys[1], past.values[0], past.values[1]
//
// Elements of tuples and lists are "[0]", those of dicts "["key"]"; children of
// other containers are named as their context names them, else counted. The
// order is that of the spec: nothing here sorts.
#pragma once

#include <string>
#include <vector>

#include "ir/tree_spec.h"

namespace tenon {

// Of a call. Positional arguments are called by `forward_arg_names`, which may
// run out: "args_2" then.
std::vector<std::string> CallLeafNames(
    const TreeSpec& in_spec, const std::vector<std::string>& forward_arg_names);

// Of a result: a dict's keys stand in front without brackets; "" for a single
// value.
std::vector<std::string> ReturnLeafNames(const TreeSpec& out_spec);

}  // namespace tenon
