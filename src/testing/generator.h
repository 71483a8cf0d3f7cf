// Makes valid programs of any size, for property tests, fuzzing, benchmarks.
//
// Every program verifies, can be written, and has only real ATen operators
// with the types that PyTorch would give their results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "ir/program.h"
#include "support/byte_cursor.h"

namespace tenon::testing {

enum class ProgramShape : uint8_t {
  kChain,    // each node uses the one before
  kDiamond,  // each step forks in two and joins again
  kWide,     // many independent short paths, joined pairwise at the end
  kLayers,   // linear, normalise, activate, add back: a deep residual network
  kRandom,   // many operators and kinds of values, state, mutations, branches
};
std::string_view Name(ProgramShape shape);
std::optional<ProgramShape> FindProgramShape(std::string_view name);

struct GeneratorOptions {
  ProgramShape shape = ProgramShape::kChain;
  // About that many nodes in the root graph; kRandom may differ by a few, the
  // others are exact from 8 on.
  size_t num_nodes = 100;
  uint64_t seed = 0;
  // kRandom: children called from the root graph (rules J). Programs with
  // calls can't be written as .pt2 before they are joined.
  bool with_child_calls = false;
};

Program GenerateProgram(const GeneratorOptions& options,
                        std::shared_ptr<Context> context);

// kRandom with every decision taken from `choices`: any byte string is a valid
// program, and a beginning of it is a smaller one.
Program GenerateProgram(const GeneratorOptions& options, Bytes choices,
                        std::shared_ptr<Context> context);

}  // namespace tenon::testing
