// The wiring digest (rule T-1): equal digests mean the same program.
//
// Each value gets a hash of what it is as an expression over inputs and state,
// computed along def-use edges; the program's digest is a hash of what every
// output, mutation and effect is. Names, metadata and the order of independent
// nodes don't enter. Operator overloads, literals, argument positions and
// parameter names, input positions, state identity, types, specs and ranges
// do. 128 bits, linear time, stable over versions of Tenon.
//
// Calls are transparent: a child call and a delegate call (by the graph that
// it was compiled from) hash as what they compute, so outlining, joining and
// delegating keep the digest.
//
// Only for programs that the verifier accepts.
#pragma once

#include <vector>

#include "ir/program.h"
#include "support/hash.h"

namespace tenon {

// One thing that the program does, in the order of the signature: an output,
// a mutation, an effect.
struct WiringRoot {
  enum class Kind : uint8_t { kOutput, kEffect } kind = Kind::kOutput;
  uint32_t index = 0;  // output position; number of the effect
  Digest digest;
  NodeId node;    // defines it; invalid for inputs and literals
  GraphId graph;  // the graph that holds `node`
  ValueId value;  // the value returned; invalid for effects and literals
};

struct Wiring {
  Digest digest;                  // of the whole program
  Digest calling_convention;      // specs, signature, ranges, state identity
  std::vector<WiringRoot> roots;  // for the first place where two part
};

Wiring ComputeWiring(const Program& program);
inline Digest WiringDigest(const Program& program) {
  return ComputeWiring(program).digest;
}

// The hash of every value of the root graph, by value index; zero for values
// of other graphs.
std::vector<Digest> ComputeValueDigests(const Program& program);

}  // namespace tenon
