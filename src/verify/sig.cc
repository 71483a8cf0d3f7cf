// V-SIG: the signature (rules L-1 to L-8).
//
// Each graph input and output has one entry. What an input stands for is
// decided by the state table, and its type is the stored tensor's. Lifted
// inputs come first, then user inputs; a state entry is lifted once.
// Among the outputs, tokens and mutations come before what the user gets. A
// mutation names a target of its kind that is an input of the program, once,
// and has its type. Programs without inputs, state or outputs are programs.
#include <string>

#include "verify/verification.h"

namespace tenon {
namespace {

// The kind of input that a state entry becomes.
InputKind KindOf(StateKind kind) {
  switch (kind) {
    case StateKind::kParameter:
      return InputKind::kParameter;
    case StateKind::kPersistentBuffer:
    case StateKind::kNonPersistentBuffer:
      return InputKind::kBuffer;
    case StateKind::kConstant:
      return InputKind::kConstantTensor;
    case StateKind::kObject:
      return InputKind::kObject;
  }
  return InputKind::kUserInput;
}

bool StandsForState(InputKind kind) {
  return kind == InputKind::kParameter || kind == InputKind::kBuffer ||
         kind == InputKind::kConstantTensor || kind == InputKind::kObject;
}

bool IsMutation(OutputKind kind) {
  return kind == OutputKind::kBufferMutation ||
         kind == OutputKind::kParameterMutation ||
         kind == OutputKind::kUserInputMutation;
}
bool IsGradient(OutputKind kind) {
  return kind == OutputKind::kGradientToParameter ||
         kind == OutputKind::kGradientToUserInput;
}
bool TargetsState(OutputKind kind) {
  return kind == OutputKind::kBufferMutation ||
         kind == OutputKind::kParameterMutation ||
         kind == OutputKind::kGradientToParameter;
}
bool TargetsInput(OutputKind kind) {
  return kind == OutputKind::kUserInputMutation ||
         kind == OutputKind::kGradientToUserInput;
}

class SignatureChecker {
 public:
  explicit SignatureChecker(const Verification& v)
      : v_(v), p_(v.program), root_(p_.root()) {}

  void Run() {
    const auto& inputs = p_.signature.inputs;
    const auto& outputs = p_.signature.outputs;
    // V-SIG-01: one entry per input.
    if (inputs.size() != root_.inputs.size()) {
      v_.Error(Rule::kSig01, Program::kRoot)
          << "the signature has " << inputs.size()
          << " input entries, expected one for each of " << root_.inputs.size()
          << " inputs";
      return;
    }
    // V-SIG-02: one entry per output.
    if (outputs.size() != p_.outputs(Program::kRoot).size()) {
      v_.Error(Rule::kSig02, Program::kRoot)
          << "the signature has " << outputs.size()
          << " output entries, expected one for each of "
          << p_.outputs(Program::kRoot).size() << " outputs";
      return;
    }
    input_of_state_.resize(p_.state.entries.size(), kNoInput);
    const size_t errors_before = v_.diags.num_errors();
    for (uint32_t i = 0; i < inputs.size(); ++i) CheckInput(i);
    // Outputs refer to inputs: of what is wrong there, nothing is told here.
    if (v_.diags.num_errors() != errors_before) return;
    CheckInputOrder();
    is_state_mutated_.resize(p_.state.entries.size(), false);
    is_input_mutated_.resize(inputs.size(), false);
    for (uint32_t i = 0; i < outputs.size(); ++i) CheckOutput(i);
    CheckOutputOrder();
  }

 private:
  DiagnosticBuilder InputError(Rule rule, uint32_t i) {
    return v_.Error(rule, Program::kRoot)
           << "input " << v_.ValueText(root_.inputs[i]) << ": ";
  }
  DiagnosticBuilder OutputError(Rule rule, uint32_t i) {
    return v_.Error(rule, Program::kRoot, root_.output)
           << "output " << i << ": ";
  }
  std::string_view Fqn(StateId s) const { return p_.view(p_.state.get(s).fqn); }

  void CheckInput(uint32_t i) {
    const InputSpec& spec = p_.signature.inputs[i];
    const Type& type = p_.type(root_.inputs[i]);
    // V-SIG-03: what stands for state names an entry, nothing else does.
    if (StandsForState(spec.kind) != spec.state.valid() ||
        (spec.state.valid() && spec.state.index >= p_.state.entries.size())) {
      InputError(Rule::kSig03, i)
          << "a " << Name(spec.kind)
          << (spec.state.valid() ? " names a state entry that isn't there"
                                 : " names no state entry");
      return;
    }
    if (!spec.state.valid()) {
      CheckUserInput(i, spec, type);
      return;
    }
    const StateEntry& entry = p_.state.get(spec.state);
    // V-SIG-04: the state table decides the kind.
    if (spec.kind != KindOf(entry.kind)) {
      InputError(Rule::kSig04, i)
          << "'" << Fqn(spec.state) << "' is a " << Name(entry.kind)
          << ", but the entry says " << Name(spec.kind);
    }
    // V-SIG-05: a state entry is lifted once.
    uint32_t& first = input_of_state_[spec.state.index];
    if (first != kNoInput) {
      InputError(Rule::kSig05, i)
          << "'" << Fqn(spec.state) << "' is already input "
          << v_.ValueText(root_.inputs[first]);
    } else {
      first = i;
    }
    // V-SIG-06: the input has the stored tensor's type.
    if (const char* what = TypeDifference(type, p_.type(entry.type))) {
      InputError(Rule::kSig06, i)
          << "'" << Fqn(spec.state) << "' is stored as "
          << v_.TypeText(entry.type) << ", the input is "
          << v_.TypeText(p_.value(root_.inputs[i]).type) << ": another "
          << what;
    }
  }

  // V-SIG-07: a fixed input is a literal, a token a tensor.
  void CheckUserInput(uint32_t i, const InputSpec& spec, const Type& type) {
    if (spec.is_constant_input && !type.is_literal()) {
      InputError(Rule::kSig07, i)
          << "the entry says that the value was fixed at export, but it is "
          << v_.TypeText(p_.value(root_.inputs[i]).type);
    }
    if (spec.kind == InputKind::kToken &&
        (!type.is_tensor() || spec.is_constant_input)) {
      InputError(Rule::kSig07, i) << "a token is a tensor";
    }
  }

  // Null when equal. Strides and offsets of older files repeat the export's
  // example, so that only what a reader of the weight relies on is compared.
  static const char* TypeDifference(const Type& a, const Type& b) {
    if (a.kind != b.kind) return "kind of value";
    if (!a.is_tensor()) return nullptr;
    if (a.dtype != b.dtype) return "dtype";
    if (a.rank() != b.rank()) return "rank";
    for (size_t d = 0; d < a.sizes.size(); ++d) {
      if (!a.sizes[d].is_literal() || a.sizes[d].value != b.sizes[d].value) {
        return "size";
      }
    }
    return nullptr;
  }

  // V-SIG-08: what is lifted comes before what the user passes. PyTorch itself
  // doesn't always keep the groups in order (W-SIG-01).
  void CheckInputOrder() {
    bool has_user = false;
    for (uint32_t i = 0; i < p_.signature.inputs.size(); ++i) {
      const InputKind kind = p_.signature.inputs[i].kind;
      if (kind == InputKind::kUserInput) {
        has_user = true;
      } else if (has_user) {
        InputError(Rule::kSig08, i)
            << "a " << Name(kind) << " stands after a user input";
        return;
      }
    }
  }

  // As an input, or in a graph, not yet lifted. The graphs are looked through
  // once, when the first target isn't an input.
  bool IsReferenced(uint32_t state) {
    if (input_of_state_[state] != kNoInput) return true;
    if (is_referenced_.empty()) MarkReferencedState();
    return is_referenced_[state];
  }

  void MarkReferencedState() {
    is_referenced_.resize(p_.state.entries.size(), false);
    for (uint32_t i = 0; i < p_.num_graphs(); ++i) {
      if (p_.graph(GraphId(i)).is_erased) continue;
      for (const NodeId n : p_.nodes(GraphId(i))) {
        const Node& node = p_.node(n);
        if (node.kind == NodeKind::kGetState) {
          is_referenced_[node.state.index] = true;
        }
      }
    }
  }

  void CheckOutput(uint32_t i) {
    const OutputSpec& spec = p_.signature.outputs[i];
    const Arg& value = p_.outputs(Program::kRoot)[i];
    // V-SIG-09: an output is a value or a literal; a target's, a value.
    const bool is_literal =
        value.kind == ArgKind::kNone || value.kind == ArgKind::kInt ||
        value.kind == ArgKind::kFloat || value.kind == ArgKind::kBool ||
        value.kind == ArgKind::kString || value.kind == ArgKind::kComplex;
    if (spec.kind == OutputKind::kUserOutput ? !is_literal && !value.is_value()
                                             : !value.is_value()) {
      OutputError(Rule::kSig09, i)
          << "a " << Name(spec.kind) << " must be "
          << (spec.kind == OutputKind::kUserOutput ? "a value or a literal"
                                                   : "a value");
      return;
    }
    if (TargetsState(spec.kind) != spec.state.valid() ||
        TargetsInput(spec.kind) != (spec.input != OutputSpec::kNoInput)) {
      // V-SIG-10: a target where there has to be one.
      OutputError(Rule::kSig10, i)
          << "a " << Name(spec.kind) << " with the wrong kind of target";
      return;
    }
    if (TargetsState(spec.kind)) CheckStateTarget(i, spec, value);
    if (TargetsInput(spec.kind)) CheckInputTarget(i, spec, value);
  }

  void CheckStateTarget(uint32_t i, const OutputSpec& spec, const Arg& value) {
    const uint32_t s = spec.state.index;
    if (s >= p_.state.entries.size() || !IsReferenced(s)) {
      OutputError(Rule::kSig10, i) << "the target of the " << Name(spec.kind)
                                   << " is no input of the program";
      return;
    }
    const StateEntry& entry = p_.state.get(spec.state);
    const bool wants_buffer = spec.kind == OutputKind::kBufferMutation;
    if (KindOf(entry.kind) !=
        (wants_buffer ? InputKind::kBuffer : InputKind::kParameter)) {
      OutputError(Rule::kSig10, i)
          << "'" << Fqn(spec.state) << "' is a " << Name(entry.kind)
          << ", no target of a " << Name(spec.kind);
      return;
    }
    if (IsMutation(spec.kind)) {
      // V-SIG-11: each target once.
      if (is_state_mutated_[s]) {
        OutputError(Rule::kSig11, i)
            << "'" << Fqn(spec.state) << "' is mutated by an output before";
      }
      is_state_mutated_[s] = true;
    }
    CheckTargetType(i, value, entry.type);
  }

  void CheckInputTarget(uint32_t i, const OutputSpec& spec, const Arg& value) {
    if (spec.input >= p_.signature.inputs.size() ||
        p_.signature.inputs[spec.input].kind != InputKind::kUserInput) {
      OutputError(Rule::kSig10, i)
          << "the target of the " << Name(spec.kind) << " is no user input";
      return;
    }
    if (IsMutation(spec.kind)) {
      if (is_input_mutated_[spec.input]) {
        OutputError(Rule::kSig11, i)
            << "input " << v_.ValueText(root_.inputs[spec.input])
            << " is mutated by an output before";
      }
      is_input_mutated_[spec.input] = true;
    }
    CheckTargetType(i, value, p_.value(root_.inputs[spec.input]).type);
  }

  // V-SIG-12: what is written back, or is a gradient, has the target's type.
  void CheckTargetType(uint32_t i, const Arg& value, TypeId target) {
    if (TypesAgree(p_.type(value.v.value), p_.type(target))) return;
    OutputError(Rule::kSig12, i)
        << "the value is " << v_.TypeText(p_.value(value.v.value).type)
        << ", but its target is " << v_.TypeText(target);
  }

  // V-SIG-13: tokens, then mutations, then what the user gets, then gradients.
  void CheckOutputOrder() {
    int last = 0;
    for (uint32_t i = 0; i < p_.signature.outputs.size(); ++i) {
      const OutputKind kind = p_.signature.outputs[i].kind;
      const int group = kind == OutputKind::kToken ? 0
                        : IsMutation(kind)         ? 1
                        : IsGradient(kind)         ? 3
                                                   : 2;
      if (group < last) {
        OutputError(Rule::kSig13, i)
            << "a " << Name(kind)
            << " stands after outputs that it must precede";
        return;
      }
      last = group;
    }
  }

  static constexpr uint32_t kNoInput = 0xFFFFFFFFu;

  const Verification& v_;
  const Program& p_;
  const Graph& root_;
  std::vector<uint32_t> input_of_state_;  // position of its first input
  std::vector<bool> is_referenced_;       // by state entry, by some graph
  std::vector<bool> is_state_mutated_;
  std::vector<bool> is_input_mutated_;
};

}  // namespace

void VerifySignature(const Verification& v) { SignatureChecker(v).Run(); }

}  // namespace tenon
