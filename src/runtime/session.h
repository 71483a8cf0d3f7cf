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
#include "tensor/undo_log.h"

namespace tenon {

// One call of a delegate, as a hook sees it.
struct DelegateCall {
  DelegateId delegate;
  std::span<const RuntimeValue> inputs;
  Diagnostics* diags = nullptr;
  // What the delegate's backend gives for these inputs, or others like them.
  std::function<Expected<std::vector<RuntimeValue>>(
      std::span<const RuntimeValue> inputs)>
      run;
};

struct SessionOptions {
  BackendOptions backend;
  // Finds backends by name; FindBackend unless a test has others.
  std::function<const Backend*(std::string_view name)> find_backend;
  // Called in the place of every delegate call; its results are the call's.
  std::function<Expected<std::vector<RuntimeValue>>(const DelegateCall& call)>
      delegate_hook;
  // Before each node of the root graph.
  std::function<void(NodeId)> before_node;
  // After each node of the root graph; for progress.
  std::function<void(NodeId)> observer;
  // The same with the node's results.
  std::function<void(NodeId, std::span<const RuntimeValue>)> values_observer;
};

// Delegate calls run on their backends, all other nodes on the reference
// executor. One thread's at a time; see Fork for several.
class Session {
 public:
  // Loads every delegate's payload; of one without payload, the graph that it
  // stands for is interpreted. The program is kept by the session.
  static Expected<std::unique_ptr<Session>> Load(
      std::shared_ptr<const Program> program, const SessionOptions& options,
      Diagnostics& diags);
  ~Session();

  // Another session of the program, to run in another thread at the same time;
  // may be called while this one runs. Program, payloads, packed weights and
  // state that no call writes are shared. State that calls write is the fork's
  // own and starts as the file holds it. Hooks and observers stay behind.
  Expected<std::unique_ptr<Session>> Fork(Diagnostics& diags) const;

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
  const std::shared_ptr<const Program>& shared_program() const {
    return program_;
  }
  // What a delegate was loaded as; for profiles.
  Executable& executable(DelegateId delegate);
  // Of the last call that succeeded: bytes of state and inputs that were saved
  // before something overwrote them, and bytes of results that were copied to
  // the state or inputs that they mutate.
  uint64_t saved_bytes() const { return undo_log_.size_bytes(); }
  uint64_t written_back_bytes() const { return written_back_bytes_; }
  // Bytes of storages that are this session's own: those that calls write.
  uint64_t own_state_bytes() const;

 private:
  class Delegates;

  explicit Session(std::shared_ptr<const Program> program);

  void FindWrittenInputs();
  void FindWrittenStorages();
  Status LoadState(const Session* shared, Diagnostics& diags);
  Expected<std::vector<RuntimeValue>> Finish(
      std::vector<RuntimeValue> outputs,
      const std::vector<RuntimeValue>& user_inputs,
      std::span<const Tensor> buffers, Diagnostics& diags);

  void SaveStorage(const Storage& storage);

  std::shared_ptr<const Program> program_;
  SessionOptions options_;
  uint64_t written_back_bytes_ = 0;
  UndoLog undo_log_;  // of the call that runs; outlives the delegates
  std::unique_ptr<Delegates> delegates_;
  std::vector<Guard> guards_;
  std::vector<std::shared_ptr<Storage>> storages_;  // by StorageId
  std::vector<Tensor> state_;                       // by StateId
  // Root inputs whose storage the graph writes in place.
  std::vector<bool> written_in_place_;
  // Of those, the ones that some node writes without saving what was there.
  std::vector<bool> needs_copy_;
  std::vector<bool> is_written_;  // by StorageId: by any call
};

}  // namespace tenon
