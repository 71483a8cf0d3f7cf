// How a method of a .pte is called from C++ and from Python.
#pragma once

#include <string>
#include <vector>

#include "formats/pte/pte_program.h"

namespace tenon::tools {

// One input or output.
struct PteSlot {
  std::string kind;   // "Tensor", "Int", ..
  std::string dtype;  // PyTorch's name; of tensors
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  bool is_bounded = false;  // sizes are the largest that there may be
  // Whether the caller's memory is used, and not copied to or from.
  bool is_callers = false;
  std::string value;  // of numbers and the like: the only one that is taken

  // "float32[16, 3] at most, caller's memory"; "Int, always 7".
  std::string Describe() const;
};

// What a value is to whoever calls; a kind alone for a value that isn't there.
PteSlot SlotOf(const PtePlan& plan, int32_t value);

// Statements that load FILE and call the method, lines of code each; DATA
// stands for the data file of programs that want one.
std::vector<std::string> PythonCall(const PtePlan& plan);
std::vector<std::string> CppCall(const PtePlan& plan);

}  // namespace tenon::tools
