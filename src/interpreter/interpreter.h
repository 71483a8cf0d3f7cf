// The reference executor: node by node, plain on purpose, the judge of all
// other executors.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "diag/diagnostics.h"
#include "ir/program.h"
#include "kernels/kernel.h"
#include "support/expected.h"
#include "tensor/value.h"

namespace tenon {

// Runs delegate calls for the interpreter.
class DelegateRunner {
 public:
  virtual ~DelegateRunner() = default;
  // One result per declared output.
  virtual Expected<std::vector<RuntimeValue>> Run(
      DelegateId delegate, std::span<const RuntimeValue> inputs,
      Diagnostics& diags) = 0;
};

struct InterpreterOptions {
  DelegateRunner* delegates = nullptr;  // null: delegate calls are errors
  Generator* generator = nullptr;
  // Called before and after each node of the outermost graph; for progress,
  // profiles and checks.
  std::function<void(NodeId)> before_node;
  std::function<void(NodeId, std::span<const RuntimeValue> results)> observer;
  int max_depth = 64;                    // nesting of graphs
  int64_t max_iterations = 100'000'000;  // of one while_loop
};

// Runs a graph on one value per graph input. The results are the graph's
// outputs in order. In-place operators write the storages of the inputs that
// they alias. An error names the node; inputs may then be partly written.
Expected<std::vector<RuntimeValue>> Interpret(const Program& program,
                                              GraphId graph,
                                              std::vector<RuntimeValue> inputs,
                                              const InterpreterOptions& options,
                                              Diagnostics& diags);

// Why the interpreter couldn't run this node; "" when it can.
std::string WhyNotInterpretable(const Program& program, NodeId node);

}  // namespace tenon
