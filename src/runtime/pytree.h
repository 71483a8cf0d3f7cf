// Nested Python-like values: a structure and its leaves, depth first.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/tree_spec.h"
#include "tensor/value.h"

namespace tenon {

struct PyTree {
  TreeSpec spec;
  std::vector<RuntimeValue> leaves;

  static PyTree Leaf(RuntimeValue value) {
    return {TreeSpec::Leaf(), {std::move(value)}};
  }
};

// What a caller passes, as in Python: positional, then by keyword.
struct CallArguments {
  std::vector<PyTree> args;
  std::vector<std::pair<std::string, PyTree>> kwargs;
};

}  // namespace tenon
