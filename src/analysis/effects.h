// What a node does besides computing results (rules J-5, M-1, M-5).
//
// Operators do what their schemas declare: written arguments, random draws.
// Batch norm in training writes its running statistics although its schema
// doesn't say so. Calls and higher-order operators do what the graphs that
// they hold do, translated to their operands; delegates do what they declare.
// Python's functions on scalars are pure. What is unknown may do anything.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/bound_args.h"
#include "ir/program.h"

namespace tenon {

struct NodeEffects {
  // Argument values whose storage the node writes. No value twice.
  std::vector<ValueId> writes;
  bool is_random = false;     // draws from the generator
  bool is_assertion = false;  // can stop the program: asserts, constraints
  bool is_opaque = false;     // an operator without schema: may do anything
  bool any() const {
    return !writes.empty() || is_random || is_assertion || is_opaque;
  }
};

// Effects of many nodes of one program; each graph is looked into once. Holds
// for the program as it was.
class EffectAnalysis {
 public:
  explicit EffectAnalysis(const Program& program);

  // Of one node, nested graphs, children and delegates included.
  NodeEffects Of(NodeId node) { return Compute(node, 0); }

 private:
  // What a graph does, seen from outside: positions of the inputs it writes.
  struct Summary {
    enum class Stage : uint8_t { kNew, kOpen, kDone } stage = Stage::kNew;
    std::vector<uint32_t> written_inputs;
    bool is_random = false, is_assertion = false, is_opaque = false;
  };

  // Whether no call of the operator has effects; asked once per operator.
  bool IsPure(OpId op);
  NodeEffects Compute(NodeId node, int depth);
  void AddOperator(NodeId node, NodeEffects* out);
  void AddHigherOrder(NodeId node, int depth, NodeEffects* out);
  // `operands[i]` is what the graph's input i stands for; invalid: no value.
  void AddGraph(GraphId graph, const std::vector<ValueId>& operands, int depth,
                NodeEffects* out);
  const Summary& SummaryOf(GraphId graph, int depth);

  const Program& program_;
  ArgBinder binder_;
  std::vector<Summary> summaries_;  // by graph
  std::vector<int8_t> is_pure_;     // by operator; -1: not asked yet
};

// Of one node. For many, an EffectAnalysis is cheaper.
NodeEffects ComputeEffects(const Program& program, NodeId node);
inline bool HasEffects(const Program& program, NodeId node) {
  return ComputeEffects(program, node).any();
}

// May-alias classes of one graph: values that can share storage have the same
// class. Views join their base; inputs are classes of their own, but for state
// that shares a storage. Results of unknown operators and of nodes with nested
// graphs join all their operands.
class AliasClasses {
 public:
  static constexpr uint32_t kNoClass = 0xFFFFFFFFu;

  AliasClasses(const Program& program, GraphId graph);
  // A dense id; kNoClass for values of other graphs and non-tensors.
  uint32_t class_of(ValueId v) const {
    const uint32_t at = v.index - first_;  // wraps around below first_
    return at < classes_.size() ? classes_[at] : kNoClass;
  }
  bool MayAlias(ValueId a, ValueId b) const {
    return class_of(a) != kNoClass && class_of(a) == class_of(b);
  }

 private:
  // The graph's values lie close together in the program's table, so that the
  // classes of all nested graphs together take linear space.
  uint32_t first_ = 0;
  std::vector<uint32_t> classes_;  // by value, from first_ on
};

}  // namespace tenon
