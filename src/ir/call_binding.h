// How the arguments of a call meet the inputs of the graph that it calls (J-1).
//
// An argument without keyword takes the input at its position; a keyword finds
// the input that the graph declares under that name; an input that is left
// gets its declared default. What inputs or operands are labelled plays no
// part. Whatever looks into a called graph asks here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tenon {

struct BindingFault {
  enum class Kind : uint8_t {
    kSurplus,           // more arguments than inputs
    kUnknownParameter,  // a keyword that the graph doesn't declare
    kBoundTwice,
    kNotBound,  // neither an argument nor a default
  };
  Kind kind;
  uint32_t arg = 0;    // position among the call's arguments; not of kNotBound
  uint32_t input = 0;  // of kBoundTwice and kNotBound
};

class CallBinding {
 public:
  // `callee` is the child that `call` names, or the source of its delegate.
  CallBinding(const Program& program, NodeId call, GraphId callee);

  // For each input of the graph what it gets: an argument of the call, or the
  // input's default, whose owner is the graph. Invalid where a fault says why.
  const std::vector<ArgId>& args() const { return args_; }
  // In the order of the call's arguments; inputs that aren't bound are only
  // told when there is no other fault, which may be what they lack.
  const std::vector<BindingFault>& faults() const { return faults_; }

 private:
  std::vector<ArgId> args_;
  std::vector<BindingFault> faults_;
};

// Whether `arg` holds no value and no graph, as the default of a parameter
// must. Lists are nested as deep as whoever made them allows.
bool IsLiteral(const Program& program, const Arg& arg);

// "argument 2 is one too many: the child has 2 inputs"
std::string Describe(const Program& program, NodeId call, GraphId callee,
                     const BindingFault& fault);

}  // namespace tenon
