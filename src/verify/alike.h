// Nodes that look alike are checked once.
//
// A model repeats its layers, and so its calls: the same operator, the same
// literals, operands of the same types. Nothing that V-OP and V-TYPE say of a
// call depends on more than how it looks: operator and result form; of each
// argument kind, name, passing, and the literal or the type of the value; the
// types of the results. So a call that looks like one that was found right is
// right. A call that was found wrong isn't remembered, and each one like it is
// checked and reported again.
//
// The looks themselves are compared, never their hashes alone; a hash only
// finds the one earlier call to compare with. There is one such call per slot,
// so a program of calls that all differ, or all collide, costs a comparison
// more per node and no memory.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace tenon {

class AlikeNodes {
 public:
  explicit AlikeNodes(const Program& program);

  // Whether a call that looks like `n` was added.
  bool Contains(NodeId n);
  // Adds the node that Contains was asked about last.
  void Add(NodeId n) { slots_[slot_] = n; }

 private:
  uint64_t Hash(NodeId n) const;
  uint64_t HashArgs(ArgRange range, uint64_t hash) const;
  bool IsAlike(NodeId a, NodeId b) const;
  bool AreArgsAlike(ArgRange a, ArgRange b) const;
  // What stands in the argument's place: the value's type, the number of items,
  // or the literal, bit by bit.
  uint64_t Content(const Arg& a) const;

  const Program& program_;
  std::vector<NodeId> slots_;  // a power of two
  size_t slot_ = 0;            // of the node asked about last
};

}  // namespace tenon
