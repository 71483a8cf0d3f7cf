#include "analysis/digest.h"

#include <algorithm>

#include "analysis/wiring_tags.h"
#include "analysis/wiring_walk.h"

namespace tenon {
namespace {

// The program's outside: its inputs, then the walk over its nodes, then what
// outputs, mutations and effects are, and how it is called.
class WiringHasher {
 public:
  explicit WiringHasher(const Program& program)
      : program_(program),
        walk_(program),
        leaves_(walk_.leaves()),
        state_(walk_.state()),
        values_(walk_.values()) {}

  Wiring Run() {
    HashInputs();
    std::vector<WiringRoot> effects;
    walk_.HashGraph(Program::kRoot, &effects);
    Wiring out;
    out.calling_convention = HashConvention();
    AddOutputs(&out.roots);
    AddMutatedInputs(&effects);
    // Independent effects have no order among themselves.
    std::sort(effects.begin(), effects.end(),
              [](const WiringRoot& a, const WiringRoot& b) {
                return a.digest < b.digest;
              });
    for (size_t i = 0; i < effects.size(); ++i) {
      effects[i].index = static_cast<uint32_t>(i);
      out.roots.push_back(effects[i]);
    }
    hasher_.Reset();
    hasher_.Add(uint64_t{kTagProgram});
    hasher_.Add(out.calling_convention);
    for (const WiringRoot& root : out.roots) hasher_.Add(root.digest);
    out.digest = hasher_.Finish();
    return out;
  }

  std::vector<Digest> TakeValueDigests() { return values_.TakeDigests(); }

 private:
  void HashInputs() {
    uint64_t num_user = 0, num_tokens = 0;
    const auto& inputs = program_.root().inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const InputSpec spec = i < program_.signature.inputs.size()
                                 ? program_.signature.inputs[i]
                                 : InputSpec();
      if (spec.state.valid()) {
        walk_.DefineState(inputs[i], spec.state);
        continue;
      }
      hasher_.Reset();
      const bool token = spec.kind == InputKind::kToken;
      hasher_.Add(uint64_t{token ? kTagToken : kTagUserInput});
      hasher_.Add(token ? num_tokens++ : num_user++);
      hasher_.Add(leaves_.Type(program_.value(inputs[i]).type));
      const Digest digest = hasher_.Finish();
      values_.Define(inputs[i], digest, values_.NewAlias(),
                     values_.NewBase(digest));
      if (!token) user_inputs_.push_back(inputs[i]);
    }
  }

  // --- outputs and effects ---

  static bool IsMutation(OutputKind kind) {
    return kind == OutputKind::kBufferMutation ||
           kind == OutputKind::kParameterMutation ||
           kind == OutputKind::kUserInputMutation;
  }

  // What a mutation or gradient is of, whatever else the program takes.
  Digest Target(const OutputSpec& spec) {
    if (spec.state.valid()) return state_.OfEntry(spec.state);
    return spec.input < program_.root().inputs.size()
               ? values_.base(program_.root().inputs[spec.input])
               : Digest();
  }

  // A mutation whose value is the target itself, written in place, says what
  // the write says: programs that declare it and programs that don't are one.
  bool IsWrittenInPlace(size_t i, const Arg& arg) {
    if (i >= program_.signature.outputs.size() || !arg.is_value()) return false;
    const OutputSpec& spec = program_.signature.outputs[i];
    return IsMutation(spec.kind) && values_.base(arg.v.value) == Target(spec);
  }

  WiringRoot Output(size_t i, uint64_t position, const Arg& arg) {
    WiringRoot root;
    root.index = static_cast<uint32_t>(i);
    root.graph = Program::kRoot;
    if (arg.is_value()) {
      root.value = arg.v.value;
      root.node = program_.value(root.value).def;
    }
    const Digest contribution = walk_.Contribution(arg);
    Hasher h;
    h.Add(uint64_t{kTagOutput});
    if (i < program_.signature.outputs.size()) {
      const OutputSpec& spec = program_.signature.outputs[i];
      h.Add(static_cast<uint64_t>(spec.kind));
      h.Add(IsMutation(spec.kind) ? uint64_t{0} : position);
      h.Add(Target(spec));
    }
    h.Add(contribution);
    root.digest = h.Finish();
    return root;
  }

  void AddOutputs(std::vector<WiringRoot>* roots) {
    const auto outputs = program_.outputs(Program::kRoot);
    uint64_t position = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (IsWrittenInPlace(i, outputs[i])) continue;
      roots->push_back(Output(i, position, outputs[i]));
      if (i >= program_.signature.outputs.size() ||
          !IsMutation(program_.signature.outputs[i].kind)) {
        ++position;
      }
    }
  }

  void AddMutated(const Digest& what, AliasId alias, ValueId v,
                  std::vector<WiringRoot>* effects) {
    if (values_.Version(alias) == Digest()) return;
    hasher_.Reset();
    hasher_.Add(uint64_t{kTagMutated});
    hasher_.Add(what);
    hasher_.Add(values_.Version(alias));
    WiringRoot root;
    root.kind = WiringRoot::Kind::kEffect;
    root.digest = hasher_.Finish();
    root.graph = Program::kRoot;
    root.value = v;
    effects->push_back(root);
  }

  // Inputs and state that the program writes in place.
  void AddMutatedInputs(std::vector<WiringRoot>* effects) {
    for (const ValueId v : user_inputs_) {
      AddMutated(values_.digest(v), values_.alias(v), v, effects);
    }
    const std::vector<AliasId>& aliases = walk_.storage_aliases();
    for (size_t s = 0; s < aliases.size(); ++s) {
      if (aliases[s] == kNoAlias) continue;
      AddMutated(state_.OfStorage(StorageId(s)), aliases[s], ValueId(),
                 effects);
    }
  }

  // --- the calling convention ---

  Digest HashConvention() {
    Hasher h;
    h.Add(uint64_t{kTagConvention});
    h.Add(static_cast<uint64_t>(user_inputs_.size()));
    for (const ValueId v : user_inputs_) {
      h.Add(leaves_.Type(program_.value(v).type));
    }
    AddUsedState(&h);
    for (const auto* spec : {&program_.in_spec, &program_.out_spec}) {
      h.Add(uint64_t{spec->has_value()});
      if (spec->has_value()) WiringLeaves::AddSpec(**spec, &h);
    }
    leaves_.AddRanges(&h);
    return h.Finish();
  }

  // State that the program reads or names as an input, lifted or not. In
  // whatever order: a sum.
  void AddUsedState(Hasher* h) {
    const std::vector<bool>& used = walk_.used_state();
    Digest sum;
    uint64_t num_used = 0;
    for (uint32_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      const Digest& d = state_.OfEntry(StateId(i));
      ++num_used;
      sum.low += d.low;
      sum.high += d.high + (sum.low < d.low ? 1 : 0);
    }
    h->Add(num_used);
    h->Add(sum);
  }

  const Program& program_;
  WiringWalk walk_;
  WiringLeaves& leaves_;
  WiringState& state_;
  WiringValues& values_;
  Hasher hasher_;
  std::vector<ValueId> user_inputs_;
};

}  // namespace

Wiring ComputeWiring(const Program& program) {
  return WiringHasher(program).Run();
}

std::vector<Digest> ComputeValueDigests(const Program& program) {
  WiringHasher hasher(program);
  hasher.Run();
  return hasher.TakeValueDigests();
}

}  // namespace tenon
