#include "runtime/session.h"

#include <cstring>
#include <optional>
#include <string>

#include "analysis/effects.h"
#include "ir/clone.h"
#include "ir/stripped.h"
#include "runtime/binding.h"
#include "runtime/output_buffers.h"
#include "runtime/scalar_boundary.h"

namespace tenon {
namespace {

Sizes Literals(const std::vector<SymInt>& sizes) {
  Sizes out;
  for (const SymInt& s : sizes) out.push_back(s.value);
  return out;
}

bool SameView(const Tensor& a, const Tensor& b) {
  return a.SharesStorage(b) && a.offset() == b.offset() &&
         a.sizes() == b.sizes() && a.strides() == b.strides();
}

// Undoes what a call wrote when it ends without Keep, for want of memory, too.
class Undoing {
 public:
  explicit Undoing(UndoLog* log) : log_(*log) { log_.Clear(); }
  ~Undoing() {
    if (!is_kept_) log_.Undo();
  }
  Undoing(const Undoing&) = delete;
  Undoing& operator=(const Undoing&) = delete;

  void Keep() { is_kept_ = true; }

 private:
  UndoLog& log_;
  bool is_kept_ = false;
};

}  // namespace

class Session::Delegates : public DelegateRunner {
 public:
  // What `forked` loaded is forked, the rest is loaded; null: all is loaded.
  Status Load(const Program& program, const SessionOptions& options,
              const Delegates* forked, Diagnostics& diags) {
    program_ = &program;
    hook_ = options.delegate_hook;
    for (size_t i = 0; i < program.delegates.size(); ++i) {
      if (forked != nullptr) {
        takes_tensors_.push_back(forked->takes_tensors_[i]);
        executables_.push_back(forked->executables_[i]->Fork());
        if (executables_.back() != nullptr) continue;
        executables_.pop_back();
        takes_tensors_.pop_back();
      }
      TENON_TRY(LoadOne(program, program.delegates[i], options, diags));
    }
    apart_.reset();
    return {};
  }

  Executable& executable(DelegateId delegate) {
    return *executables_[delegate.index];
  }

  // From now on they save what they overwrite, those that can.
  void SetUndoLog(UndoLog* log) {
    for (const auto& executable : executables_) {
      saves_.push_back(executable->set_undo_log(log));
    }
  }

  // Whether a call saves all that it overwrites. A hook may run anything.
  bool saves(DelegateId delegate) const {
    return !hook_ && saves_[delegate.index];
  }

  Expected<std::vector<RuntimeValue>> Run(DelegateId delegate,
                                          std::span<const RuntimeValue> inputs,
                                          Diagnostics& diags) override {
    if (!hook_) return Call(delegate, inputs, diags);
    DelegateCall call;
    call.delegate = delegate;
    call.inputs = inputs;
    call.diags = &diags;
    call.run = [&](std::span<const RuntimeValue> values) {
      return Call(delegate, values, diags);
    };
    return hook_(call);
  }

 private:
  Expected<std::vector<RuntimeValue>> Call(DelegateId delegate,
                                           std::span<const RuntimeValue> inputs,
                                           Diagnostics& diags) {
    const std::vector<TypeId>& outputs =
        program_->delegates[delegate.index].outputs;
    const bool takes_tensors = takes_tensors_[delegate.index];
    auto results =
        takes_tensors
            ? executables_[delegate.index]->Run(ScalarsAsTensors(inputs), diags)
            : executables_[delegate.index]->Run(inputs, diags);
    if (!results) return Failure{};
    if (results->size() != outputs.size()) {
      return diags.Error(Rule::kRun01)
             << "delegate " << delegate.index << " gave " << results->size()
             << " results, expected " << outputs.size();
    }
    if (takes_tensors) TensorsAsScalars(*program_, outputs, &*results);
    return results;
  }

  Status LoadOne(const Program& program, const Delegate& d,
                 const SessionOptions& options, Diagnostics& diags) {
    takes_tensors_.push_back(false);
    if (d.payload.empty() && d.source.valid()) {
      return LoadSource(program, d, options.backend, diags);
    }
    const std::string_view name = program.view(d.backend);
    const Backend* backend =
        options.find_backend ? options.find_backend(name) : FindBackend(name);
    if (backend == nullptr) {
      return diags.Error(Rule::kUnsupported,
                         Place::Node(std::string(program.view(d.name))))
             << "this build has no backend '" << name << "'";
    }
    auto executable =
        backend->Load(d.payload, d.payload_owner, options.backend, diags);
    if (!executable) return Failure{};
    executables_.push_back(std::move(*executable));
    takes_tensors_.back() =
        backend->scalar_boundary() == ScalarBoundary::kZeroDimTensor;
    return {};
  }

  // A delegate that was never compiled: its graph says what it computes.
  Status LoadSource(const Program& program, const Delegate& d,
                    const BackendOptions& options, Diagnostics& diags) {
    const Backend* reference = FindBackend("reference");
    // Extracting adds to the context, which others may be reading.
    if (!apart_) apart_ = program.CloneApart();
    auto compiled =
        reference->Compile(ExtractGraph(*apart_, d.source), options, diags);
    if (!compiled) return Failure{};
    const auto payload = std::make_shared<const std::vector<std::byte>>(
        std::move(compiled->payload));
    auto executable = reference->Load(*payload, payload, options, diags);
    if (!executable) return Failure{};
    executables_.push_back(std::move(*executable));
    return {};
  }

  const Program* program_ = nullptr;
  std::optional<Program> apart_;  // while loading
  std::function<Expected<std::vector<RuntimeValue>>(const DelegateCall&)> hook_;
  std::vector<std::unique_ptr<Executable>> executables_;
  std::vector<bool> takes_tensors_;  // for scalars (D-5)
  std::vector<bool> saves_;
};

Session::Session(std::shared_ptr<const Program> program)
    : program_(std::move(program)), delegates_(std::make_unique<Delegates>()) {}

Session::~Session() = default;

Expected<std::unique_ptr<Session>> Session::Load(
    std::shared_ptr<const Program> program, const SessionOptions& options,
    Diagnostics& diags) {
  std::unique_ptr<Session> session(new Session(std::move(program)));
  session->options_ = options;
  TENON_TRY(
      session->delegates_->Load(session->program(), options, nullptr, diags));
  session->delegates_->SetUndoLog(&session->undo_log_);
  session->FindWrittenInputs();
  session->FindWrittenStorages();
  TENON_TRY(session->LoadState(nullptr, diags));
  session->guards_ = ParseGuards(session->program());
  return session;
}

Expected<std::unique_ptr<Session>> Session::Fork(Diagnostics& diags) const {
  std::unique_ptr<Session> fork(new Session(program_));
  fork->options_.backend = options_.backend;
  fork->options_.find_backend = options_.find_backend;
  TENON_TRY(fork->delegates_->Load(*program_, fork->options_, delegates_.get(),
                                   diags));
  fork->delegates_->SetUndoLog(&fork->undo_log_);
  fork->written_in_place_ = written_in_place_;
  fork->needs_copy_ = needs_copy_;
  fork->is_written_ = is_written_;
  TENON_TRY(fork->LoadState(this, diags));
  fork->guards_ = guards_;
  return fork;
}

Executable& Session::executable(DelegateId delegate) {
  return delegates_->executable(delegate);
}

uint64_t Session::own_state_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < storages_.size(); ++i) {
    if (is_written_[i]) bytes += storages_[i]->size_bytes();
  }
  return bytes;
}

// State that a call changes, in place or by a mutation among its results.
void Session::FindWrittenStorages() {
  const StateTable& table = program_->state;
  is_written_.assign(table.storages.size(), false);
  const auto mark = [&](StateId state) {
    if (!state.valid()) return;
    const StorageId storage = table.get(state).storage;
    if (storage.valid()) is_written_[storage.index] = true;
  };
  const auto& inputs = program_->signature.inputs;
  for (size_t i = 0; i < written_in_place_.size(); ++i) {
    if (written_in_place_[i] && i < inputs.size()) mark(inputs[i].state);
  }
  for (const OutputSpec& output : program_->signature.outputs) {
    if (output.kind == OutputKind::kBufferMutation ||
        output.kind == OutputKind::kParameterMutation) {
      mark(output.state);
    }
  }
}

// Storages that no call writes are those of `shared`, unless that is null.
Status Session::LoadState(const Session* shared, Diagnostics& diags) {
  const StateTable& table = program_->state;
  for (size_t i = 0; i < table.storages.size(); ++i) {
    const StorageRecord& record = table.storages[i];
    storages_.push_back(shared != nullptr && !is_written_[i]
                            ? shared->storages_[i]
                            : Storage::BorrowConst(record.bytes, record.owner));
  }
  for (const StateEntry& entry : table.entries) {
    state_.emplace_back();
    if (!entry.storage.valid() || !entry.type.valid() ||
        !program_->type(entry.type).is_tensor()) {
      continue;
    }
    const Type& type = program_->type(entry.type);
    std::shared_ptr<Storage>& storage = storages_[entry.storage.index];
    const Place place = Place::Node(std::string(program_->view(entry.fqn)));
    if (table.storage(entry.storage).is_weightless) {
      if (!IsStripped(*program_)) {
        return diags.Error(Rule::kUnsupported, place)
               << "the program was saved without this tensor's values";
      }
      return diags.Error(Rule::kUnsupported, place)
             << "the program's weights were stripped; 'tenon weights FILE "
                "--from WEIGHTS -o OUT' puts them back";
    }
    if (type.layout != Layout::kStrided) {
      return diags.Error(Rule::kUnsupported, place)
             << "this tensor's layout is " << Name(type.layout)
             << ", only strided ones can be run";
    }
    if (entry.is_pickled) {
      return diags.Error(Rule::kUnsupported, place)
             << "this tensor is a pickled object";
    }
    const size_t alignment = std::max<size_t>(SizeBytes(type.dtype), 1);
    const bool aligned =
        reinterpret_cast<uintptr_t>(storage->data()) % alignment == 0;
    if (!aligned && !storage->MakeWritable()) {
      return diags.Error(Rule::kIo, place) << "out of memory";
    }
    Tensor tensor(storage, type.dtype, Literals(type.sizes),
                  Literals(type.strides), type.storage_offset.value);
    if (!tensor.FitsStorage()) {
      return diags.Error(Rule::kFile08, place)
             << "the tensor " << tensor.ToString() << " needs more than the "
             << storage->size_bytes() << " bytes of its storage";
    }
    state_.back() = std::move(tensor);
  }
  return {};
}

void Session::FindWrittenInputs() {
  const Graph& root = program_->root();
  written_in_place_.assign(root.inputs.size(), false);
  needs_copy_.assign(root.inputs.size(), false);
  struct Write {
    ValueId value;
    bool is_saved = false;
  };
  std::vector<Write> writes;
  EffectAnalysis effects(*program_);
  for (const NodeId n : program_->nodes(Program::kRoot)) {
    const Node& node = program_->node(n);
    const bool is_saved = node.kind == NodeKind::kDelegateCall &&
                          delegates_->saves(node.delegate);
    for (const ValueId v : effects.Of(n).writes)
      writes.push_back({v, is_saved});
  }
  if (writes.empty()) return;
  const AliasClasses classes(*program_, Program::kRoot);
  std::vector<bool> written, unsaved;
  for (const Write& write : writes) {
    const uint32_t c = classes.class_of(write.value);
    if (c == AliasClasses::kNoClass) continue;
    if (c >= written.size()) {
      written.resize(c + 1, false);
      unsaved.resize(c + 1, false);
    }
    written[c] = true;
    unsaved[c] = unsaved[c] || !write.is_saved;
  }
  for (size_t i = 0; i < root.inputs.size(); ++i) {
    const uint32_t c = classes.class_of(root.inputs[i]);
    written_in_place_[i] = c < written.size() && written[c];
    needs_copy_[i] = c < unsaved.size() && unsaved[c];
  }
}

Expected<std::vector<RuntimeValue>> Session::RunFlat(
    std::vector<RuntimeValue> inputs, Diagnostics& diags) {
  return RunFlat(std::move(inputs), {}, diags);
}

Expected<std::vector<RuntimeValue>> Session::RunFlat(
    std::vector<RuntimeValue> user_inputs, std::span<const Tensor> buffers,
    Diagnostics& diags) {
  const auto symbols = CheckUserInputs(*program_, user_inputs, guards_, diags);
  if (!symbols) return Failure{};
  const Graph& root = program_->root();
  std::vector<RuntimeValue> inputs(root.inputs.size());
  Undoing undoing(&undo_log_);
  size_t next_user = 0;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& spec = program_->signature.inputs[i];
    if (spec.kind == InputKind::kUserInput) {
      inputs[i] = user_inputs[next_user++];
    } else if (spec.state.valid()) {
      inputs[i] = state_[spec.state.index];
      if (!state_[spec.state.index].defined()) {
        return diags.Error(Rule::kUnsupported,
                           Place::Node(std::string(program_->view(
                               program_->state.get(spec.state).fqn))))
               << "opaque objects can't be executed";
      }
    }
    if (!written_in_place_[i] || !inputs[i].is_tensor()) continue;
    const std::shared_ptr<Storage>& storage = inputs[i].tensor().storage();
    if (!storage->writable() && !storage->MakeWritable()) {
      return diags.Error(Rule::kIo) << "out of memory";
    }
    if (needs_copy_[i]) SaveStorage(*storage);
  }
  InterpreterOptions interpreter;
  interpreter.delegates = delegates_.get();
  interpreter.before_node = options_.before_node;
  if (options_.observer || options_.values_observer) {
    interpreter.observer = [this](NodeId n,
                                  std::span<const RuntimeValue> values) {
      if (options_.observer) options_.observer(n);
      if (options_.values_observer) options_.values_observer(n, values);
    };
  }
  auto outputs = Interpret(*program_, Program::kRoot, std::move(inputs),
                           interpreter, diags);
  if (!outputs) return Failure{};
  auto results = Finish(std::move(*outputs), user_inputs, buffers, diags);
  if (results) undoing.Keep();
  return results;
}

void Session::SaveStorage(const Storage& storage) {
  undo_log_.Save(storage.data(), 1, 0, storage.size_bytes());
}

// Writes mutations back and keeps what the user gets.
Expected<std::vector<RuntimeValue>> Session::Finish(
    std::vector<RuntimeValue> outputs,
    const std::vector<RuntimeValue>& user_inputs,
    std::span<const Tensor> buffers, Diagnostics& diags) {
  struct Write {
    Tensor target;
    Tensor value;
  };
  std::vector<Write> writes;
  std::vector<RuntimeValue> results;
  const std::vector<uint32_t> user_positions = UserInputPositions(*program_);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputSpec spec = i < program_->signature.outputs.size()
                                ? program_->signature.outputs[i]
                                : OutputSpec();
    Tensor target;
    switch (spec.kind) {
      case OutputKind::kUserOutput:
      case OutputKind::kLossOutput:
      case OutputKind::kGradientToParameter:
      case OutputKind::kGradientToUserInput:
        results.push_back(std::move(outputs[i]));
        continue;
      case OutputKind::kToken:
        continue;
      case OutputKind::kBufferMutation:
      case OutputKind::kParameterMutation:
        target = state_[spec.state.index];
        break;
      case OutputKind::kUserInputMutation:
        for (size_t k = 0; k < user_positions.size(); ++k) {
          if (user_positions[k] == spec.input && user_inputs[k].is_tensor()) {
            target = user_inputs[k].tensor();
          }
        }
        break;
    }
    if (!target.defined() || !outputs[i].is_tensor() ||
        outputs[i].tensor().sizes() != target.sizes() ||
        outputs[i].tensor().dtype() != target.dtype()) {
      return diags.Error(Rule::kRun01)
             << "output " << i << " can't be written to what it mutates";
    }
    if (SameView(target, outputs[i].tensor())) continue;
    Tensor value = outputs[i].tensor();
    // The source may view what is about to be written.
    if (value.SharesStorage(target)) value = value.Clone();
    writes.push_back({target, std::move(value)});
  }
  TENON_TRY(CheckOutputBuffers(buffers, results, diags));
  for (const Write& w : writes) {
    if (!w.target.storage()->writable() &&
        !w.target.storage()->MakeWritable()) {
      return diags.Error(Rule::kIo) << "out of memory";
    }
  }
  // An output that views the target keeps the value that it had.
  for (RuntimeValue& r : results) {
    if (!r.is_tensor()) continue;
    for (const Write& w : writes) {
      if (r.tensor().SharesStorage(w.target)) {
        r = r.tensor().Clone();
        break;
      }
    }
  }
  written_back_bytes_ = 0;
  for (Write& w : writes) {
    w.target.CopyFrom(w.value);
    written_back_bytes_ +=
        static_cast<uint64_t>(w.value.numel()) * SizeBytes(w.value.dtype());
  }
  FillOutputBuffers(buffers, &results);
  return results;
}

Expected<PyTree> Session::Run(const CallArguments& arguments,
                              Diagnostics& diags) {
  auto leaves = FlattenCall(*program_, arguments, diags);
  if (!leaves) return Failure{};
  auto results = RunFlat(std::move(*leaves), diags);
  if (!results) return Failure{};
  PyTree out;
  if (program_->out_spec &&
      program_->out_spec->num_leaves() == results->size()) {
    out.spec = *program_->out_spec;
  } else {
    out.spec = TreeSpec::Tuple(
        std::vector<TreeSpec>(results->size(), TreeSpec::Leaf()));
  }
  out.leaves = std::move(*results);
  return out;
}

Tensor Session::State(std::string_view fqn) const {
  for (size_t i = 0; i < state_.size(); ++i) {
    if (program_->view(program_->state.entries[i].fqn) == fqn) return state_[i];
  }
  return Tensor();
}

void Session::ResetState() {
  for (size_t i = 0; i < storages_.size(); ++i) {
    const Bytes original = program_->state.storages[i].bytes;
    // Others are as they were, and perhaps read by other sessions.
    if (is_written_[i] && storages_[i]->writable() && !original.empty()) {
      std::memcpy(storages_[i]->mutable_data(), original.data(),
                  original.size());
    }
  }
}

}  // namespace tenon
