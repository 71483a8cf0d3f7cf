// How control-flow operators pass operands to the graphs that they hold.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/program.h"

namespace tenon {

// Arguments that a nested graph's inputs stand for, in their order.
struct OperandGroup {
  uint32_t arg = 0;        // position of the argument; its items, if a list
  bool is_rest = false;    // that argument and all behind it
  bool is_sliced = false;  // the graph sees slices along dimension 0
};

struct HigherOrderConvention {
  std::string_view op;
  uint32_t first_graph = 0, num_graphs = 1;
  std::span<const OperandGroup> groups;
  // Further operands can be appended to the last group: graphs see them as
  // their last inputs.
};

// Null for operators whose convention isn't known.
const HigherOrderConvention* FindHigherOrderConvention(std::string_view op);

}  // namespace tenon
