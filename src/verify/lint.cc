// W: lints. What is legal but seldom meant.
//
// Lints look only at programs without errors. W-STATE-01 compares weights and
// so reads them; the others look at the program alone.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "analysis/guards.h"
#include "verify/verification.h"

namespace tenon {
namespace {

class Linter {
 public:
  explicit Linter(const Verification& v) : v_(v), p_(v.program) {}

  void Run() {
    UnusedInputs();
    InputOrder();
    UnseenMutations();
    EqualWeights();
    UnusedWeights();
    SharedStorages();
    UnusedSymbols();
    SmallRegions();
    AliasedOutputs();
    UnknownOperators();
    UncheckedGuards();
  }

 private:
  DiagnosticBuilder Warn(Rule rule, std::string_view place) const {
    return v_.diags.Warning(rule, Place::Node(std::string(place)));
  }
  std::string_view Fqn(const StateEntry& e) const { return p_.view(e.fqn); }

  // W-INPUT-01: torch.export folds example inputs that are one tensor into one
  // graph input; the other is left without users.
  void UnusedInputs() const {
    for (size_t i = 0; i < p_.root().inputs.size(); ++i) {
      const ValueId input = p_.root().inputs[i];
      if (p_.signature.inputs[i].kind != InputKind::kUserInput ||
          p_.value(input).num_uses > 0 || !p_.type(input).is_tensor()) {
        continue;
      }
      Warn(Rule::kLintInput01, p_.name)
          << "nothing uses the user input " << v_.ValueText(input)
          << ": if two example inputs were one tensor, export again with"
             " distinct ones";
    }
  }

  // W-SIG-01: parameters, buffers, constants, objects, as PyTorch's exporter
  // means to give them and Tenon lifts them.
  void InputOrder() const {
    const auto group = [](InputKind kind) {
      switch (kind) {
        case InputKind::kToken:
          return 0;
        case InputKind::kParameter:
          return 1;
        case InputKind::kBuffer:
          return 2;
        case InputKind::kConstantTensor:
          return 3;
        case InputKind::kObject:
          return 4;
        case InputKind::kUserInput:
          return 5;
      }
      return 5;
    };
    int last = 0;
    for (size_t i = 0; i < p_.signature.inputs.size(); ++i) {
      const int g = group(p_.signature.inputs[i].kind);
      if (g < last && g > 0) {
        Warn(Rule::kLintSig01, p_.name)
            << "the input " << v_.ValueText(p_.root().inputs[i]) << ", a "
            << Name(p_.signature.inputs[i].kind)
            << ", stands after a later group of lifted inputs";
        return;
      }
      last = std::max(last, g);
    }
  }

  // W-EFFECT-01: a buffer that is written at the end of each call, read by
  // nothing, and not part of the state dict.
  void UnseenMutations() const {
    std::vector<ValueId> inputs(p_.state.entries.size());
    for (size_t i = 0; i < p_.root().inputs.size(); ++i) {
      const StateId s = p_.signature.inputs[i].state;
      if (s.valid()) inputs[s.index] = p_.root().inputs[i];
    }
    for (const OutputSpec& spec : p_.signature.outputs) {
      if (spec.kind != OutputKind::kBufferMutation) continue;
      const StateEntry& entry = p_.state.get(spec.state);
      const ValueId input = inputs[spec.state.index];
      if (entry.kind == StateKind::kNonPersistentBuffer && input.valid() &&
          p_.value(input).num_uses == 0) {
        Warn(Rule::kLintEffect01, Fqn(entry))
            << "the buffer is written, but nothing ever reads it";
      }
    }
  }

  Bytes BytesOf(const StateEntry& e) const {
    if (!e.storage.valid() || e.storage.index >= p_.state.storages.size()) {
      return {};
    }
    return p_.state.storage(e.storage).bytes;
  }

  // W-STATE-01: two storages with the same bytes, for entries of one type.
  void EqualWeights() const {
    std::map<std::pair<uint32_t, Digest>, const StateEntry*> seen;
    for (const StateEntry& e : p_.state.entries) {
      const Bytes bytes = BytesOf(e);
      if (bytes.size() < kWorthSharingBytes) continue;
      const auto [it, added] = seen.emplace(
          std::pair(e.type.index, HashBytes(bytes.data(), bytes.size())), &e);
      if (!added && it->second->storage != e.storage) {
        Warn(Rule::kLintState01, Fqn(e))
            << "the same " << bytes.size() << " bytes are stored for '"
            << Fqn(*it->second) << "' too";
      }
    }
  }

  // W-STATE-02: a state dict may hold more than the program uses, at a cost.
  void UnusedWeights() const {
    std::vector<bool> is_used(p_.state.entries.size(), false);
    for (size_t i = 0; i < p_.root().inputs.size(); ++i) {
      const StateId s = p_.signature.inputs[i].state;
      if (s.valid() && p_.value(p_.root().inputs[i]).num_uses > 0) {
        is_used[s.index] = true;
      }
    }
    for (const OutputSpec& spec : p_.signature.outputs) {
      if (spec.state.valid()) is_used[spec.state.index] = true;
    }
    for (uint32_t g = 0; g < p_.num_graphs(); ++g) {
      if (p_.graph(GraphId(g)).is_erased) continue;
      for (const NodeId n : p_.nodes(GraphId(g))) {
        if (p_.node(n).kind == NodeKind::kGetState) {
          is_used[p_.node(n).state.index] = true;
        }
      }
    }
    for (size_t s = 0; s < is_used.size(); ++s) {
      if (!is_used[s]) {
        Warn(Rule::kLintState02, Fqn(p_.state.entries[s]))
            << "no node uses this " << Name(p_.state.entries[s].kind);
      }
    }
  }

  // W-STATE-03: one storage, two dtypes. W-STATE-04: one storage and one view,
  // two names.
  void SharedStorages() const {
    std::unordered_map<StorageId, const StateEntry*> seen;
    for (const StateEntry& e : p_.state.entries) {
      if (!e.storage.valid()) continue;
      const auto [it, added] = seen.emplace(e.storage, &e);
      if (added) continue;
      const StateEntry& first = *it->second;
      if (p_.type(first.type).dtype != p_.type(e.type).dtype) {
        Warn(Rule::kLintState03, Fqn(e))
            << "shares its storage with '" << Fqn(first) << "', as "
            << Name(p_.type(e.type).dtype) << " and as "
            << Name(p_.type(first.type).dtype);
      } else if (first.type == e.type && first.kind == e.kind) {
        Warn(Rule::kLintState04, Fqn(e))
            << "is the same tensor as '" << Fqn(first) << "' by another name";
      }
    }
  }

  // W-SYM-01: a symbol with a range that no input's type mentions: the export
  // fixed the dimension after all.
  void UnusedSymbols() const {
    std::unordered_set<StringId> names;
    std::vector<bool> is_seen(p_.context().exprs.size(), false);
    for (const ValueId input : p_.root().inputs) {
      const Type& t = p_.type(input);
      if (t.sym.expr.valid()) AddNames(t.sym.expr, &is_seen, &names);
      for (const SymInt& s : t.sizes) {
        if (s.expr.valid()) AddNames(s.expr, &is_seen, &names);
      }
    }
    for (const SymbolRange& range : p_.ranges) {
      if (!range.expr.valid()) continue;
      const Expr& e = p_.context().exprs.get(range.expr);
      if (e.kind != ExprKind::kSymbol || range.min == range.max) continue;
      const std::string_view name = p_.view(e.text);
      // Unbacked symbols come from nodes, not from inputs.
      if (name.substr(0, 1) == "u" || name.substr(0, 1) == "z") continue;
      if (!names.contains(e.text)) {
        Warn(Rule::kLintSym01, p_.name)
            << "the symbol " << name
            << " has a range, but no input has a size that depends on it";
      }
    }
  }

  // W-GUARD-01: such a guard travels in the file, but no call is checked by it.
  void UncheckedGuards() const {
    for (const std::string& text : p_.file.guards_code) {
      std::string error;
      if (Guard::Parse(p_, text, &error)) continue;
      Warn(Rule::kLintGuard01, p_.name)
          << "the guard \"" << text << "\" isn't checked: " << error;
    }
  }

  void AddNames(ExprId id, std::vector<bool>* is_seen,
                std::unordered_set<StringId>* names) const {
    if ((*is_seen)[id.index]) return;
    (*is_seen)[id.index] = true;
    const Expr& e = p_.context().exprs.get(id);
    if (e.kind == ExprKind::kSymbol) names->insert(e.text);
    for (const ExprId arg : e.args) AddNames(arg, is_seen, names);
  }

  // W-REGION-01: one operator behind a boundary.
  void SmallRegions() const {
    for (const Delegate& d : p_.delegates) {
      if (!d.source.valid() || p_.CountNodes(d.source) > 1) continue;
      Warn(Rule::kLintRegion01, p_.view(d.name))
          << "a region of " << p_.CountNodes(d.source) << " nodes with "
          << d.inputs.size() + d.outputs.size()
          << " values at its boundary costs more than it saves";
    }
  }

  // W-ALIAS-01: a caller who writes the result writes what it passed in.
  void AliasedOutputs() const {
    const AliasClasses aliases(p_, Program::kRoot);
    std::unordered_map<uint32_t, ValueId> inputs;
    for (size_t i = 0; i < p_.root().inputs.size(); ++i) {
      const uint32_t c = aliases.class_of(p_.root().inputs[i]);
      if (c != AliasClasses::kNoClass) inputs.emplace(c, p_.root().inputs[i]);
    }
    const auto outputs = p_.outputs(Program::kRoot);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (p_.signature.outputs[i].kind != OutputKind::kUserOutput ||
          !outputs[i].is_value()) {
        continue;
      }
      const auto it = inputs.find(aliases.class_of(outputs[i].v.value));
      if (it == inputs.end()) continue;
      Warn(Rule::kLintAlias01, p_.name)
          << "output " << i << " may share storage with the input "
          << v_.ValueText(it->second);
    }
  }

  // W-OP-01: PyTorch's own operator, but from another release.
  void UnknownOperators() const {
    std::unordered_set<OpId> seen;
    for (uint32_t g = 0; g < p_.num_graphs(); ++g) {
      if (p_.graph(GraphId(g)).is_erased) continue;
      for (const NodeId n : p_.nodes(GraphId(g))) {
        if (p_.node(n).kind != NodeKind::kOp || p_.schema(n) != nullptr) {
          continue;
        }
        const std::string_view name = p_.op_name(n);
        const bool is_pytorch =
            name.substr(0, 5) == "aten." || name.substr(0, 6) == "prims.";
        if (!is_pytorch || !seen.insert(p_.node(n).op).second) continue;
        v_.diags.Warning(Rule::kLintOp01,
                         Place::Node(p_.Describe(GraphId(g), n)))
            << "the schema table lacks " << name
            << ": its arguments aren't checked";
      }
    }
  }

  // Smaller tensors are often equal by chance: zeros, ones.
  static constexpr size_t kWorthSharingBytes = 1024;

  const Verification& v_;
  const Program& p_;
};

}  // namespace

void Lint(const Verification& v) { Linter(v).Run(); }

}  // namespace tenon
