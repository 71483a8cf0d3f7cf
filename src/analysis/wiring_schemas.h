// What operators' schemas say that matters for the wiring digest: whether an
// operator has effects, and where its results live.
#pragma once

#include <vector>

#include "analysis/wiring_values.h"
#include "ir/program.h"

namespace tenon {

// What holds of an operator, whatever its arguments.
class OperatorTraits {
 public:
  enum Trait : uint8_t {
    kKnown = 1,
    kPure = 2,     // no effects
    kAliases = 4,  // a result may share storage with an argument
    kMutates = 8,
  };

  explicit OperatorTraits(const Context& context) : context_(context) {}

  // A set of traits, kKnown among them.
  uint8_t Of(OpId id) {
    if (id.index >= traits_.size()) traits_.resize(context_.num_ops(), 0);
    uint8_t& known = traits_[id.index];
    if (known == 0) known = Find(id);
    return known;
  }

 private:
  uint8_t Find(OpId id) const;

  const Context& context_;
  std::vector<uint8_t> traits_;  // by operator; 0 = not looked at yet
};

// By result: the storage class that it shares with an argument, or kNoAlias.
std::vector<AliasId> ResultAliases(const Program& program, const Node& node,
                                   const OpSchema& schema,
                                   const WiringValues& values);

// What an in-place operator writes and returns is what it was given.
void KeepBases(const Program& program, const Node& node, const OpSchema& schema,
               WiringValues* values);

}  // namespace tenon
