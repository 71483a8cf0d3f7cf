// One entry per graph input and output, in order (rules L-1 to L-8).
#pragma once

#include <cstdint>
#include <vector>

#include "ir/ids.h"
#include "ir/kinds.h"

namespace tenon {

// Entry i describes the root graph's input i. What it stands for is a state
// entry or nothing: never a name.
struct InputSpec {
  InputKind kind = InputKind::kUserInput;
  StateId state;  // parameters, buffers, constants, objects
  // A user input that the file declares as fixed at export ("constant_input");
  // its value is the input's literal type.
  bool is_constant_input = false;
};

// Entry i describes the root graph's output i.
struct OutputSpec {
  static constexpr uint32_t kNoInput = 0xFFFFFFFFu;

  OutputKind kind = OutputKind::kUserOutput;
  StateId state;  // target of buffer and parameter mutations and gradients
  // Position of the graph input: target of user input mutations, gradients.
  uint32_t input = kNoInput;
};

struct Signature {
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
};

}  // namespace tenon
