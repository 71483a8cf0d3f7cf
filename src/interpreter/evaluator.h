// Evaluates graphs: one Evaluator for one Interpret call, a frame per graph
// activation.
#pragma once

#include <span>
#include <vector>

#include "diag/diagnostics.h"
#include "interpreter/interpreter.h"
#include "ir/program.h"
#include "tensor/value.h"

namespace tenon {

using Results = std::vector<RuntimeValue>;

class Evaluator {
 public:
  Evaluator(const Program& program, const InterpreterOptions& options,
            Diagnostics& diags);

  // One result per output of the graph.
  Expected<Results> Run(GraphId graph, Results inputs);
  // One node of `graph` by itself: operands[i] is what the i-th value that it
  // takes holds, in the order of ForEachOperand. One result per value of the
  // node. The graph can't be run by this evaluator any more.
  Expected<Results> RunAlone(GraphId graph, NodeId node,
                             const Results& operands);

  const Program& program() const { return program_; }
  const InterpreterOptions& options() const { return options_; }
  Diagnostics& diags() { return diags_; }
  // The dtype of autocast in the graph that runs now; kUnknown = off.
  DType autocast = DType::kUnknown;
  // The node being evaluated, for messages.
  DiagnosticBuilder ErrorHere();

 private:
  // The values of one activation of a graph, by the value's slot.
  struct Frame {
    GraphId graph;
    std::vector<RuntimeValue> values;
    std::vector<uint32_t> uses_left;
  };

  void NumberSlots(GraphId graph);
  Status RunNode(NodeId node, Frame* frame);
  Expected<Results> CallNode(NodeId node, const Frame& frame);
  Expected<Results> CallChild(NodeId node, const Frame& frame);
  Expected<Results> CallOperator(NodeId node, const Frame& frame);
  void UseRecordedDType(NodeId node, const OpSchema& schema,
                        std::vector<RuntimeValue>* args,
                        std::vector<bool>* present) const;
  RuntimeValue Read(const Arg& arg, const Frame& frame) const;
  // Spreads results, one per return, over the node's values.
  Status Store(NodeId node, Results results, Frame* frame);
  // Drops values that the node read last.
  void Release(NodeId node, Frame* frame);

  const Program& program_;
  const InterpreterOptions& options_;
  Diagnostics& diags_;
  std::vector<uint32_t> slots_;        // by value index
  std::vector<uint32_t> frame_sizes_;  // by graph index; 0 = not numbered yet
  NodeId current_;
  GraphId current_graph_;
  int depth_ = 0;
};

// Whether `op_name` is a higher-order operator that CallHigherOrder runs.
bool IsKnownHigherOrder(std::string_view op_name);

// A higher-order operator: `args` are its direct arguments, in order, read
// already; a nested graph's place holds None and its id stands in `graphs`.
struct HigherOrderCall {
  std::string_view op;
  std::vector<RuntimeValue> args;
  std::vector<GraphId> graphs;  // one per argument; invalid where none
};
Expected<Results> CallHigherOrder(Evaluator* evaluator, HigherOrderCall call);

}  // namespace tenon
