// What a node does besides computing results (rules J-5, M-1, M-5).
#pragma once

#include <vector>

#include "ir/program.h"

namespace tenon {

struct NodeEffects {
  // Argument values whose storage the node writes.
  std::vector<ValueId> writes;
  bool is_random = false;       // draws from the generator
  bool is_assertion = false;    // can stop the program: asserts, constraints
  bool is_opaque = false;       // an operator without schema: may do anything
  bool any() const {
    return !writes.empty() || is_random || is_assertion || is_opaque;
  }
};

// Of one node, nested graphs, children and delegates included.
NodeEffects ComputeEffects(const Program& program, NodeId node);
inline bool HasEffects(const Program& program, NodeId node) {
  return ComputeEffects(program, node).any();
}

// May-alias classes of one graph: values that can share storage have the same
// class. Views join their base; inputs are classes of their own.
class AliasClasses {
 public:
  AliasClasses(const Program& program, GraphId graph);
  // A dense id; UINT32_MAX for values of other graphs and non-tensors.
  uint32_t class_of(ValueId v) const { return classes_[v.index]; }

 private:
  std::vector<uint32_t> classes_;
};

}  // namespace tenon
