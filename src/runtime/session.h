// A loaded program: its state and its delegates, ready to be called.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/guards.h"
#include "backends/backend.h"
#include "diag/diagnostics.h"
#include "interpreter/interpreter.h"
#include "ir/program.h"
#include "runtime/pytree.h"
#include "support/expected.h"

namespace tenon {

struct SessionOptions {
  BackendOptions backend;
  // After each node of the root graph; for progress.
  std::function<void(NodeId)> observer;
  // The same with the node's results.
  std::function<void(NodeId, std::span<const RuntimeValue>)> values_observer;
};

// Delegate calls run on their backends, all other nodes on the reference
// executor. Not thread-safe.
class Session {
 public:
  // Loads every delegate's payload; of one without payload, the graph that it
  // stands for is interpreted. The program is kept by the session.
  static Expected<std::unique_ptr<Session>> Load(
      std::shared_ptr<const Program> program, const SessionOptions& options,
      Diagnostics& diags);
  ~Session();

  // One value per user input, in order; the results are the user outputs.
  // Tensors may have any strides. Arguments are checked first (S-5, S-6).
  // Inputs that the program writes are written in the caller's tensors. After
  // a failure state and inputs are as before the call.
  Expected<std::vector<RuntimeValue>> RunFlat(std::vector<RuntimeValue> inputs,
                                              Diagnostics& diags);
  // The same, with results put in memory of the caller's: `buffers` as in
  // output_buffers.h. One copy per result; a buffer that doesn't fit is an
  // error that changes nothing.
  Expected<std::vector<RuntimeValue>> RunFlat(std::vector<RuntimeValue> inputs,
                                              std::span<const Tensor> buffers,
                                              Diagnostics& diags);
  // The same with the program's calling convention.
  Expected<PyTree> Run(const CallArguments& arguments, Diagnostics& diags);

  // A state tensor as it is now; undefined when the program has none by that
  // name. A view of the session's storage.
  Tensor State(std::string_view fqn) const;
  // Puts the state back to what the file holds.
  void ResetState();

  const Program& program() const { return *program_; }

 private:
  class Delegates;

  explicit Session(std::shared_ptr<const Program> program);

  Status LoadState(Diagnostics& diags);
  void FindWrittenInputs();
  Expected<std::vector<RuntimeValue>> Finish(
      std::vector<RuntimeValue> outputs,
      const std::vector<RuntimeValue>& user_inputs,
      std::span<const Tensor> buffers, Diagnostics& diags);

  std::shared_ptr<const Program> program_;
  SessionOptions options_;
  std::unique_ptr<Delegates> delegates_;
  std::vector<Guard> guards_;
  std::vector<std::shared_ptr<Storage>> storages_;  // by StorageId
  std::vector<Tensor> state_;                       // by StateId
  // Root inputs whose storage the graph writes in place.
  std::vector<bool> written_in_place_;
};

}  // namespace tenon
