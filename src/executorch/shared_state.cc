#include "executorch/shared_state.h"

#include <algorithm>
#include <string_view>

#include "formats/flatbuffer/flat_blob.h"
#include "ir/reach.h"
#include "link/declare_writes.h"

namespace tenon::executorch {
namespace {

constexpr uint64_t kStateAlignment = 16;

bool IsBuffer(const StateEntry& entry) {
  return entry.kind == StateKind::kPersistentBuffer ||
         entry.kind == StateKind::kNonPersistentBuffer ||
         entry.kind == StateKind::kParameter;
}

bool IsStateMutation(const OutputSpec& o) {
  return o.kind == OutputKind::kBufferMutation ||
         o.kind == OutputKind::kParameterMutation;
}

bool Writes(const Program& program, StateId state) {
  const auto& outputs = program.signature.outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](const OutputSpec& o) {
    return IsStateMutation(o) && o.state == state;
  });
}

Bytes InitialBytes(const Program& program, StateId state) {
  const StateEntry& entry = program.state.get(state);
  const auto reach = ReachBytes(program.type(entry.type));
  if (!reach || !entry.storage.valid()) return {};
  const Bytes bytes = program.state.storage(entry.storage).bytes;
  return bytes.first(
      static_cast<size_t>(std::min<uint64_t>(*reach, bytes.size())));
}

// A method that has a buffer of that name.
struct Holder {
  std::string_view method;
  const Program* program = nullptr;
  StateId state;
  bool writes = false;

  const Type& type() const {
    return program->type(program->state.get(state).type);
  }
  Bytes bytes() const { return InitialBytes(*program, state); }
  // "decode: float32[1, 2, 8]"
  std::string Describe() const {
    std::string out = std::string(method) + ": ";
    out += Name(type().dtype);
    out += "[";
    for (size_t i = 0; i < type().sizes.size(); ++i) {
      out += (i > 0 ? ", " : "") + std::to_string(type().sizes[i].value);
    }
    return out + "]";
  }
};

bool IsSameTensor(const Holder& a, const Holder& b) {
  const Type &x = a.type(), &y = b.type();
  if (!x.is_tensor() || !y.is_tensor() || x.dtype != y.dtype ||
      x.sizes.size() != y.sizes.size()) {
    return false;
  }
  for (size_t i = 0; i < x.sizes.size(); ++i) {
    if (x.sizes[i].value != y.sizes[i].value) return false;
  }
  return true;
}

using HoldersByName = std::map<std::string, std::vector<Holder>, std::less<>>;

HoldersByName FindHolders(std::span<const PteMethod> methods,
                          std::span<const Program> lowered) {
  HoldersByName holders;
  for (size_t m = 0; m < methods.size(); ++m) {
    const Program& program = lowered[m];
    for (const InputSpec& input : program.signature.inputs) {
      if (!input.state.valid()) continue;
      const StateEntry& entry = program.state.get(input.state);
      if (!IsBuffer(entry)) continue;
      holders[std::string(program.view(entry.fqn))].push_back(
          {methods[m].name, &program, input.state,
           Writes(program, input.state)});
    }
  }
  return holders;
}

bool IsWritten(const std::vector<Holder>& holders) {
  return std::any_of(holders.begin(), holders.end(),
                     [](const Holder& h) { return h.writes; });
}

// V-PTE-34
Status CheckShareable(const std::string& name,
                      const std::vector<Holder>& holders, Diagnostics& diags) {
  const Place place = Place::Node(name);
  if (holders.size() < 2) {
    return diags.Error(Rule::kPte34, place)
           << "can't be shared: only method '" << holders[0].method
           << "' has a buffer of this name";
  }
  if (!IsWritten(holders)) {
    return diags.Error(Rule::kPte34, place)
           << "can't be shared: no method writes it, so that it is a constant "
              "and stored once anyway";
  }
  for (const Holder& other : holders) {
    if (!IsSameTensor(holders[0], other)) {
      return diags.Error(Rule::kPte34, place)
             << "can't be shared: it is another tensor in each method ("
             << holders[0].Describe() << ", " << other.Describe() << ")";
    }
    if (AsText(holders[0].bytes()) != AsText(other.bytes())) {
      return diags.Error(Rule::kPte34, place)
             << "can't be shared: at first it holds something else in method '"
             << other.method << "' than in '" << holders[0].method << "'";
    }
  }
  return {};
}

}  // namespace

Expected<SharedNames> FindSharedState(std::span<const PteMethod> methods,
                                      std::span<const Program> lowered,
                                      const PteFileOptions& options,
                                      Diagnostics& diags) {
  SharedNames shared;
  if (!options.shares_all_state && options.shared_state.empty()) return shared;
  const HoldersByName holders = FindHolders(methods, lowered);
  bool holds = true;
  for (const std::string& name : options.shared_state) {
    const auto found = holders.find(name);
    if (found == holders.end()) {
      diags.Error(Rule::kPte34, Place::Node(name))
          << "can't be shared: no method has a buffer of this name";
      holds = false;
    } else if (!CheckShareable(name, found->second, diags)) {
      holds = false;
    } else {
      shared.insert(name);
    }
  }
  if (options.shares_all_state) {
    for (const auto& [name, having] : holders) {
      if (having.size() < 2 || !IsWritten(having)) continue;
      if (CheckShareable(name, having, diags)) {
        shared.insert(name);
      } else {
        holds = false;
      }
    }
    if (holds && shared.empty()) {
      diags.Error(Rule::kPte34)
          << "there is no state to share: no buffer that one method writes is "
             "in another one";
      holds = false;
    }
  }
  if (!holds) return Failure{};
  return shared;
}

UnchangedState::UnchangedState(const SharedNames& shared, Program* program)
    : program_(*program) {
  std::vector<InputMutation> own;
  for (uint32_t i = 0; i < program->signature.inputs.size(); ++i) {
    const StateId state = program->signature.inputs[i].state;
    if (!state.valid() || Writes(*program, state)) continue;
    const StateEntry& entry = program->state.get(state);
    if (!IsBuffer(entry) || !shared.contains(program->view(entry.fqn))) {
      continue;
    }
    own.push_back({i, program->root().inputs[i]});
  }
  DeclareInputMutations(program, own);
  count_ = static_cast<uint32_t>(own.size());
}

UnchangedState::~UnchangedState() {
  if (count_ == 0) return;
  const NodeId output = program_.root().output;
  const ArgRange old = program_.node(output).args;
  const ArgRange kept = program_.NewArgs(old.count - count_);
  for (uint32_t i = 0; i < kept.count; ++i) {
    program_.CopyArg(old[i + count_], kept[i], output);
  }
  program_.ReplaceArgs(output, kept);
  auto& specs = program_.signature.outputs;
  specs.erase(specs.begin(), specs.begin() + count_);
}

std::vector<StateArena> PlaceState(std::span<const Program> lowered,
                                   const SharedNames& shared) {
  std::vector<StateArena> arenas;
  if (lowered.size() < 2) return arenas;
  arenas.resize(lowered.size());
  std::map<std::string, uint64_t, std::less<>> places;  // of shared buffers
  uint64_t end = 0;
  for (size_t m = 0; m < lowered.size(); ++m) {
    const Program& program = lowered[m];
    for (const InputSpec& input : program.signature.inputs) {
      if (!input.state.valid()) continue;
      const StateEntry& entry = program.state.get(input.state);
      const std::string fqn(program.view(entry.fqn));
      const bool is_shared = IsBuffer(entry) && shared.contains(fqn);
      if (!is_shared && !Writes(program, input.state)) continue;
      const auto known = is_shared ? places.find(fqn) : places.end();
      if (known != places.end()) {
        arenas[m].offsets[input.state.index] = known->second;
        continue;
      }
      arenas[m].offsets[input.state.index] = end;
      if (is_shared) places[fqn] = end;
      end +=
          AlignUp(InitialBytes(program, input.state).size(), kStateAlignment);
    }
  }
  for (StateArena& arena : arenas) arena.size_bytes = end;
  if (end == 0) arenas.clear();
  return arenas;
}

}  // namespace tenon::executorch
