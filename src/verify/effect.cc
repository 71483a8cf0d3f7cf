// V-EFFECT: mutation (rules M-1, M-3, M-5).
//
// A mutation in the signature is a change: its value isn't the target itself,
// unless something writes that in place. A program that states only functional
// dialects writes nothing in place. No write goes to a tensor that several
// elements share.
#include <algorithm>
#include <string>

#include "verify/verification.h"

namespace tenon {
namespace {

// Whether the file's dialects forbid in-place operators: the core ATen dialect
// alone does. Others are training's, or not known.
bool IsFunctionalDialect(const Program& p) {
  const auto& verifiers = p.file.verifiers;
  return !verifiers.empty() &&
         std::all_of(verifiers.begin(), verifiers.end(),
                     [](const std::string& name) { return name == "ATEN"; });
}

class EffectChecker {
 public:
  explicit EffectChecker(const Verification& v)
      : v_(v), p_(v.program), effects_(p_) {}

  void Run() {
    const bool is_functional = IsFunctionalDialect(p_);
    for (uint32_t i = 0; i < p_.num_graphs(); ++i) {
      const GraphId g(i);
      if (p_.graph(g).is_erased) continue;
      for (const NodeId n : p_.nodes(g)) {
        if (!MayWrite(n)) continue;
        const NodeEffects effects = effects_.Of(n);
        if (effects.writes.empty()) continue;
        if (g == Program::kRoot) {
          written_.insert(written_.end(), effects.writes.begin(),
                          effects.writes.end());
        }
        if (p_.node(n).kind != NodeKind::kOp) continue;
        if (is_functional) CheckFunctional(g, n, effects);
        for (const ValueId v : effects.writes) CheckOverlap(g, n, v);
      }
    }
    CheckMutations();
  }

 private:
  // Cheap, per operator: whether a look at the node is worth it.
  bool MayWrite(NodeId n) {
    const Node& node = p_.node(n);
    if (node.kind == NodeKind::kChildCall ||
        node.kind == NodeKind::kDelegateCall) {
      return true;
    }
    if (node.kind != NodeKind::kOp) return false;
    if (node.op.index >= may_write_.size()) {
      may_write_.resize(node.op.index + 1, kUnknown);
    }
    uint8_t& known = may_write_[node.op.index];
    if (known == kUnknown) {
      const OpInfo& info = p_.context().op(node.op);
      const bool is_batch_norm =
          p_.view(info.name).find("_norm.") != std::string_view::npos;
      known = info.is_higher_order ||
                      (info.schema != nullptr &&
                       (info.schema->is_mutating() || is_batch_norm))
                  ? kYes
                  : kNo;
    }
    return known == kYes;
  }

  // V-EFFECT-02: functional programs write through the signature only.
  void CheckFunctional(GraphId g, NodeId n, const NodeEffects& effects) {
    if (p_.schema(n) == nullptr || !p_.schema(n)->is_mutating()) return;
    v_.Error(Rule::kEffect02, g, n)
        << p_.op_name(n) << " writes " << v_.ValueText(effects.writes[0])
        << " in place, but the program is of a functional dialect";
  }

  // V-EFFECT-03: what is written has one place for each element. A size above
  // 1 over a stride of 0 is the case that types can tell.
  void CheckOverlap(GraphId g, NodeId n, ValueId v) {
    const Type& t = p_.type(v);
    if (!t.is_tensor()) return;
    for (size_t d = 0; d < t.sizes.size(); ++d) {
      const SymInt &size = t.sizes[d], &stride = t.strides[d];
      if (size.is_literal() && size.value > 1 && stride.is_literal() &&
          stride.value == 0 && !IsEmpty(t)) {
        v_.Error(Rule::kEffect03, g, n)
            << "the node writes " << v_.ValueText(v) << ", whose dimension "
            << d << " is one element repeated " << size.value << " times";
        return;
      }
    }
  }
  static bool IsEmpty(const Type& t) {
    return std::any_of(t.sizes.begin(), t.sizes.end(), [](const SymInt& s) {
      return s.is_literal() && s.value == 0;
    });
  }

  // V-EFFECT-01: a mutation's value differs from its target, or the target is
  // written in place.
  void CheckMutations() {
    std::vector<ValueId> input_of_state(p_.state.entries.size());
    const Graph& root = p_.root();
    for (size_t i = 0; i < root.inputs.size(); ++i) {
      const StateId s = p_.signature.inputs[i].state;
      if (s.valid()) input_of_state[s.index] = root.inputs[i];
    }
    std::vector<uint32_t> suspects;
    for (uint32_t i = 0; i < p_.signature.outputs.size(); ++i) {
      const OutputSpec& spec = p_.signature.outputs[i];
      const bool is_state_mutation =
          spec.kind == OutputKind::kBufferMutation ||
          spec.kind == OutputKind::kParameterMutation;
      if (!is_state_mutation && spec.kind != OutputKind::kUserInputMutation) {
        continue;
      }
      const ValueId target = is_state_mutation
                                 ? input_of_state[spec.state.index]
                                 : root.inputs[spec.input];
      if (p_.outputs(Program::kRoot)[i].value() == target && target.valid()) {
        suspects.push_back(i);
      }
    }
    if (suspects.empty()) return;
    const AliasClasses aliases(p_, Program::kRoot);
    for (const uint32_t i : suspects) {
      const ValueId value = p_.outputs(Program::kRoot)[i].value();
      const bool is_written =
          std::any_of(written_.begin(), written_.end(),
                      [&](ValueId w) { return aliases.MayAlias(w, value); });
      if (is_written) continue;
      v_.Error(Rule::kEffect01, Program::kRoot, root.output)
          << "output " << i << " is a " << Name(p_.signature.outputs[i].kind)
          << " whose value is the unchanged " << v_.ValueText(value);
    }
  }

  enum : uint8_t { kUnknown, kYes, kNo };

  const Verification& v_;
  const Program& p_;
  EffectAnalysis effects_;
  std::vector<ValueId> written_;    // by nodes of the root graph
  std::vector<uint8_t> may_write_;  // by operator
};

}  // namespace

void VerifyEffects(const Verification& v) { EffectChecker(v).Run(); }

}  // namespace tenon
