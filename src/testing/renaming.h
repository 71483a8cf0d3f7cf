// Other labels for everything that has one: rule J-2 says that they mean
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/program.h"
#include "testing/choices.h"

namespace tenon::testing {

enum class Renaming : uint8_t {
  kOneName,    // everything is called "add"
  kNone,       // nothing is called anything
  kOperators,  // "aten.add.Tensor", "getitem", "output": words that others seek
  kSwapped,    // each value bears the label of another one
  kTwins,      // "a.b", "a_b", "a-b": one name once they are made identifiers
  kUnicode,    // composed and decomposed letters, quotes, sigils, no letters
};
std::string_view Name(Renaming renaming);
std::span<const Renaming> AllRenamings();

// Values, nodes, graphs and regions. What is an identity and no label stays:
// FQNs, declared parameters, names of delegates.
void Rename(Program* program, Renaming renaming, Choices* choices);

}  // namespace tenon::testing
