#include "passes/fold_constants.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/reach.h"
#include "ir/remove_state.h"
#include "link/lift.h"
#include "passes/constant_values.h"
#include "passes/fold_plan.h"
#include "passes/module_calls.h"

namespace tenon {
namespace {

using Kind = ConstantValue::Kind;

bool HasReferences(const Program& program) {
  for (uint32_t g = 0; g < program.num_graphs(); ++g) {
    if (program.graph(GraphId(g)).is_erased) continue;
    for (const NodeId n : program.nodes(GraphId(g))) {
      if (program.node(n).kind == NodeKind::kGetState) return true;
    }
  }
  return false;
}

class Folder {
 public:
  Folder(Program* program, const FoldConstantsOptions& options, bool nested)
      : program_(*program),
        values_(*program, options, nested),
        plan_(PlanFolding(*program, values_, options.max_growth_bytes)),
        now_(program->module_calls.empty() ? std::vector<ValueId>()
                                           : LiveValues(*program)) {}

  // Constants stand as references afterwards where they stood as such before;
  // else they are lifted.
  Status Run(Diagnostics& diags) {
    const auto& all = values_.all();
    const bool is_lifted = !HasReferences(program_);
    for (const StateEntry& entry : program_.state.entries) {
      fqns_.insert(entry.fqn);
    }
    FindSources();
    for (size_t i = 0; i < all.size(); ++i) {
      if (plan_.is_kept[i]) TENON_TRY(MakeConstant(all[i], diags));
      if (plan_.goes[i] && all[i].kind == Kind::kSame) Skip(all[i]);
    }
    for (size_t i = all.size(); i-- > 0;) {
      if (!plan_.goes[i] || !program_.node(all[i].node).in_graph) continue;
      const ValueRange results = program_.node(all[i].node).results;
      if (all[i].value != results[0]) continue;
      program_.Erase(all[i].graph, all[i].node);
      ++report_.num_nodes;
    }
    if (report_.num_nodes == 0) return {};
    if (is_lifted) TENON_TRY(Lift(&program_, diags));
    FixModuleCalls();
    RemoveSources();
    return {};
  }

  FoldConstantsReport TakeReport() { return std::move(report_); }

 private:
  // Constants that nodes read which go: they go, too, if nothing else does.
  void FindSources() {
    is_source_.assign(program_.state.entries.size(), false);
    for (size_t i = 0; i < values_.all().size(); ++i) {
      if (!plan_.goes[i]) continue;
      program_.ForEachOperand(values_.all()[i].node, [&](ValueId v) {
        const ConstantValue& operand = values_.all()[values_.Find(v)];
        if (operand.kind != Kind::kState) return;
        is_source_[operand.state.index] =
            program_.state.get(operand.state).kind == StateKind::kConstant;
      });
    }
  }

  Status MakeConstant(const ConstantValue& computed, Diagnostics& diags) {
    const Value& value = program_.value(computed.value);
    const Type& type = program_.type(value.type);
    Tensor stored = Tensor::EmptyStrided(type.dtype, Literals(type.sizes),
                                         Literals(type.strides));
    if (!stored.defined()) {
      return diags.Error(Rule::kUnsupported) << "out of memory";
    }
    stored.CopyFrom(computed.tensor);
    const uint64_t bytes = ReachBytes(type).value_or(0);
    StorageRecord record;
    record.bytes = Bytes(stored.storage()->data(), bytes);
    record.owner = stored.storage();
    StateEntry entry;
    entry.fqn = NewName(value.name);
    entry.kind = StateKind::kConstant;
    entry.type = value.type;
    entry.storage = program_.state.AddStorage(std::move(record));
    report_.constants.emplace_back(program_.view(entry.fqn));
    report_.bytes += bytes;
    const StateId state = program_.state.Add(entry);

    const NodeId reference = program_.NewNode(NodeKind::kGetState);
    program_.mutable_node(reference).state = state;
    const ValueId result = program_.NewResults(reference, 1)[0];
    const Value was = program_.value(computed.value);
    program_.mutable_value(result).type = was.type;
    program_.mutable_value(result).name = was.name;
    program_.InsertBefore(computed.graph, computed.node, reference);
    program_.ReplaceAllUses(computed.value, result);
    Replace(computed.value, result);
    state_of_.emplace_back(result, state);
    return {};
  }

  void Skip(const ConstantValue& same) {
    ValueId operand;
    program_.ForEachOperand(same.node, [&](ValueId v) { operand = v; });
    program_.ReplaceAllUses(same.value, operand);
    Replace(same.value, operand);
  }

  StringId NewName(StringId label) {
    const std::string_view text = program_.view(label);
    const std::string base =
        "folded_" + std::string(text.empty() ? "constant" : text);
    std::string name = base;
    for (size_t& suffix = next_suffix_[base];;) {
      const StringId id = program_.context().Intern(name);
      if (fqns_.insert(id).second) return id;
      name = base + "_" + std::to_string(++suffix);
    }
  }

  // Notes what a value became.
  void Replace(ValueId from, ValueId to) {
    if (from.index < now_.size() && now_[from.index].valid()) {
      replaced_.emplace_back(from, to);
    }
  }

  void FixModuleCalls() {
    if (program_.module_calls.empty()) return;
    const std::vector<ValueId> alive = LiveValues(program_);
    // References that were lifted are the inputs of their entries.
    std::vector<ValueId> input_of(program_.state.entries.size());
    for (size_t i = 0; i < program_.root().inputs.size(); ++i) {
      const StateId state = program_.signature.inputs[i].state;
      if (state.valid()) input_of[state.index] = program_.root().inputs[i];
    }
    std::vector<ValueId> final(alive);
    for (const auto& [result, state] : state_of_) {
      if (!final[result.index].valid()) {
        final[result.index] = input_of[state.index];
      }
    }
    // A value that was skipped became one that is older.
    for (const auto& [from, to] : replaced_)
      final[from.index] = final[to.index];
    UpdateModuleCalls(final, &program_, &report_.notes);
  }

  void RemoveSources() {
    const size_t entries = program_.state.entries.size();
    const uint64_t bytes = StateBytes();
    is_source_.resize(entries, false);
    RemoveUnusedState(is_source_, &program_);
    report_.num_removed =
        static_cast<uint32_t>(entries - program_.state.entries.size());
    report_.bytes_removed = bytes - StateBytes();
  }

  uint64_t StateBytes() const {
    uint64_t bytes = 0;
    for (const StorageRecord& storage : program_.state.storages) {
      bytes += storage.bytes.size();
    }
    return bytes;
  }

  Program& program_;
  const ConstantValues values_;
  const FoldPlan plan_;
  std::vector<ValueId> now_;
  FoldConstantsReport report_;
  std::unordered_set<StringId> fqns_;
  std::unordered_map<std::string, size_t> next_suffix_;
  std::vector<bool> is_source_;  // by state entry
  std::vector<std::pair<ValueId, StateId>> state_of_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
};

}  // namespace

Expected<FoldConstantsReport> FoldConstants(Program* program,
                                            const FoldConstantsOptions& options,
                                            Diagnostics& diags) {
  Diagnostics nested_diags;
  Program folded = program->Clone();
  Folder folder(&folded, options, /*nested=*/true);
  if (folder.Run(nested_diags)) {
    *program = std::move(folded);
    return folder.TakeReport();
  }
  // Some node's way of passing operands to its graphs isn't known.
  folded = program->Clone();
  Folder outer(&folded, options, /*nested=*/false);
  TENON_TRY(outer.Run(diags));
  *program = std::move(folded);
  FoldConstantsReport report = outer.TakeReport();
  report.notes.push_back(
      "nested graphs were left as they are: state can't be passed to all of "
      "them");
  return report;
}

}  // namespace tenon
