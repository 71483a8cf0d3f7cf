#include "ir/remove_state.h"

#include <unordered_set>

namespace tenon {
namespace {

class StateRemover {
 public:
  StateRemover(const std::vector<bool>& marked, Program* program)
      : goes_(marked), program_(*program) {}

  void Run() {
    KeepUsed();
    RemoveReferences();
    RemoveInputs();
    ForgetRemoved();
    RemoveEntries();
  }

 private:
  template <typename Visit>
  void ForEachReference(Visit&& visit) {
    for (uint32_t i = 0; i < program_.num_graphs(); ++i) {
      const GraphId g(i);
      if (program_.graph(g).is_erased) continue;
      for (const NodeId n : program_.nodes(g)) {
        if (program_.node(n).kind == NodeKind::kGetState) visit(g, n);
      }
    }
  }

  bool HasUses(NodeId n) const {
    const ValueRange results = program_.node(n).results;
    for (uint32_t i = 0; i < results.count; ++i) {
      if (program_.value(results[i]).num_uses > 0) return true;
    }
    return false;
  }

  void KeepUsed() {
    const auto& inputs = program_.root().inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const StateId state = program_.signature.inputs[i].state;
      if (state.valid() && program_.value(inputs[i]).num_uses > 0) {
        goes_[state.index] = false;
      }
    }
    for (const OutputSpec& output : program_.signature.outputs) {
      if (output.state.valid()) goes_[output.state.index] = false;
    }
    ForEachReference([&](GraphId, NodeId n) {
      if (HasUses(n)) goes_[program_.node(n).state.index] = false;
    });
    KeepNamed();
  }

  // Objects in place refer by name.
  void KeepNamed() {
    std::unordered_set<StringId> names;
    for (uint32_t i = 0; i < program_.num_graphs(); ++i) {
      if (program_.graph(GraphId(i)).is_erased) continue;
      for (const NodeId n : program_.nodes(GraphId(i))) {
        program_.ForEachArg(program_.node(n).args, [&](const Arg& a, ArgId) {
          if (a.kind == ArgKind::kObject) names.insert(a.object.name);
        });
      }
    }
    for (size_t i = 0; i < goes_.size(); ++i) {
      if (names.count(program_.state.entries[i].fqn) > 0) goes_[i] = false;
    }
  }

  void RemoveReferences() {
    ForEachReference([&](GraphId g, NodeId n) {
      if (goes_[program_.node(n).state.index]) program_.Erase(g, n);
    });
  }

  void RemoveInputs() {
    Graph& root = program_.mutable_graph(Program::kRoot);
    std::vector<ValueId> inputs;
    std::vector<InputSpec> specs;
    std::vector<uint32_t> new_index(root.inputs.size());
    for (size_t i = 0; i < root.inputs.size(); ++i) {
      const InputSpec& spec = program_.signature.inputs[i];
      if (spec.state.valid() && goes_[spec.state.index]) {
        removed_.insert(root.inputs[i]);
        continue;
      }
      new_index[i] = static_cast<uint32_t>(inputs.size());
      program_.mutable_value(root.inputs[i]).index = new_index[i];
      inputs.push_back(root.inputs[i]);
      specs.push_back(spec);
    }
    root.inputs = std::move(inputs);
    program_.signature.inputs = std::move(specs);
    for (OutputSpec& output : program_.signature.outputs) {
      if (output.input != OutputSpec::kNoInput) {
        output.input = new_index[output.input];
      }
    }
  }

  // Recorded calls of modules say of a value that it is gone.
  void ForgetRemoved() {
    for (ModuleCall& call : program_.module_calls) {
      for (auto* arguments : {&call.inputs, &call.outputs}) {
        for (ModuleCall::Argument& argument : *arguments) {
          if (removed_.count(argument.value) > 0) argument.value = ValueId();
        }
      }
    }
  }

  void RemoveEntries() {
    StateTable& state = program_.state;
    std::vector<bool> storage_stays(state.storages.size());
    for (size_t i = 0; i < state.entries.size(); ++i) {
      const StorageId storage = state.entries[i].storage;
      if (!goes_[i] && storage.valid()) storage_stays[storage.index] = true;
    }
    std::vector<bool> storage_goes(state.storages.size());
    for (size_t i = 0; i < state.entries.size(); ++i) {
      const StorageId storage = state.entries[i].storage;
      if (goes_[i] && storage.valid() && !storage_stays[storage.index]) {
        storage_goes[storage.index] = true;
      }
    }
    const auto new_storages = Compact(storage_goes, &state.storages);
    const auto new_entries = Compact(goes_, &state.entries);
    for (StateEntry& entry : state.entries) {
      if (entry.storage.valid()) {
        entry.storage = StorageId(new_storages[entry.storage.index]);
      }
    }
    const auto renumber = [&](StateId* id) {
      if (id->valid()) *id = StateId(new_entries[id->index]);
    };
    for (InputSpec& input : program_.signature.inputs) renumber(&input.state);
    for (OutputSpec& output : program_.signature.outputs) {
      renumber(&output.state);
    }
    ForEachReference(
        [&](GraphId, NodeId n) { renumber(&program_.mutable_node(n).state); });
  }

  // The new position of each item that stays.
  template <typename T>
  static std::vector<uint32_t> Compact(const std::vector<bool>& goes,
                                       std::vector<T>* items) {
    std::vector<uint32_t> out(items->size());
    uint32_t next = 0;
    for (size_t i = 0; i < items->size(); ++i) {
      out[i] = next;
      if (goes[i]) continue;
      if (next != i) (*items)[next] = std::move((*items)[i]);
      ++next;
    }
    items->erase(items->begin() + next, items->end());
    return out;
  }

  std::vector<bool> goes_;
  Program& program_;
  std::unordered_set<ValueId> removed_;  // inputs of the root graph
};

}  // namespace

void RemoveUnusedState(const std::vector<bool>& marked, Program* program) {
  for (const bool goes : marked) {
    if (!goes) continue;
    StateRemover(marked, program).Run();
    return;
  }
}

}  // namespace tenon
