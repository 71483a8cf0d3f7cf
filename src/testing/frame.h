// What surrounds a generated graph: inputs, state, signature, specs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ir/program.h"
#include "testing/emitter.h"

namespace tenon::testing {

// Builds the root graph's surroundings in the order that rule L-1 asks for:
// first all state, then user inputs, then nodes, then Finish.
class Frame {
 public:
  explicit Frame(std::shared_ptr<Context> context);

  Program& program() { return program_; }

  // A state entry of contiguous type whose elements count up in small steps
  // from `start`, and its graph input. Parameters, then buffers, then
  // constants.
  ValueId AddState(StateKind kind, std::string_view fqn, TypeId type,
                   int64_t start);
  ValueId AddUserInput(std::string_view name, TypeId type, bool is_keyword);

  // The state behind an input; invalid for user inputs.
  StateId state_of(ValueId input) const;

  // Ends the program. `mutations` pairs an input (a buffer or a user input)
  // with the value that it holds afterwards; user inputs come last.
  struct Mutation {
    ValueId target, value;
  };
  void Finish(std::span<const Mutation> mutations,
              std::span<const Operand> outputs, const TreeSpec& out_spec);

  Program Take() { return std::move(program_); }

 private:
  Program program_;
  std::vector<std::string> positional_, keyword_;
};

}  // namespace tenon::testing
