// Which values of a program are the same in every run, and what they are.
//
// The first half of FoldConstants (fold_constants.h says what counts).
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "passes/fold_constants.h"
#include "tensor/tensor.h"

namespace tenon {

struct ConstantValue {
  enum class Kind : uint8_t {
    kState,     // a state entry, as an input of the root or as a reference
    kPassed,    // an input of a nested graph, for a constant outside of it
    kComputed,  // a tensor of its own
    kView,      // shares the storage of an operand of `node`
    kSame,      // the one operand of `node`: a detach_
  } kind = Kind::kState;
  ValueId value;
  GraphId graph;
  NodeId node;    // defines it; invalid for inputs
  StateId state;  // kState
  Tensor tensor;
};

// Of literal sizes or strides.
Sizes Literals(const std::vector<SymInt>& list);

class ConstantValues {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  // `nested`: also inside the graphs of control flow.
  ConstantValues(const Program& program, const FoldConstantsOptions& options,
                 bool nested);

  // Graph by graph, in the order of nodes: operands before what they make.
  const std::vector<ConstantValue>& all() const { return all_; }
  // Its position in all(), or kNone.
  uint32_t Find(ValueId v) const {
    return v.index < slots_.size() ? slots_[v.index] : kNone;
  }

 private:
  friend class ConstantFinder;

  std::vector<ConstantValue> all_;
  std::vector<uint32_t> slots_;  // by value
};

}  // namespace tenon
