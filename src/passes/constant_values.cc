#include "passes/constant_values.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analysis/effects.h"
#include "interpreter/evaluator.h"
#include "ir/higher_order.h"
#include "ir/reach.h"
#include "passes/delegate_graphs.h"

namespace tenon {
namespace {

using Kind = ConstantValue::Kind;

// Marks a tensor as cut off from autograd; in a program that was exported it
// gives its argument, unchanged.
constexpr std::string_view kDetachInPlace = "aten.detach_.default";

// Memory as it was found: another one in each run.
constexpr std::string_view kUninitialised[] = {
    "aten.empty",
    "aten.new_empty",
    "prims.empty",
};

// Their graphs see the operands as they are, and all in one run.
constexpr std::string_view kTransparent[] = {
    "higher_order.cond",
    "higher_order.invoke_subgraph",
    "higher_order.wrap_with_set_grad_enabled",
};

template <size_t N>
bool IsIn(const std::string_view (&list)[N], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

bool HasLiteralGeometry(const Type& type) {
  const auto is_literal = [](const SymInt& i) { return i.is_literal(); };
  return type.is_tensor() && type.layout == Layout::kStrided &&
         std::all_of(type.sizes.begin(), type.sizes.end(), is_literal) &&
         std::all_of(type.strides.begin(), type.strides.end(), is_literal) &&
         type.storage_offset.is_literal();
}

// May-alias classes of a graph that are written or returned.
class OpenClasses {
 public:
  OpenClasses(const Program& program, GraphId graph, EffectAnalysis* effects)
      : aliases_(program, graph) {
    for (const NodeId n : program.nodes(graph)) {
      const Node& node = program.node(n);
      if (node.kind == NodeKind::kOutput) {
        program.ForEachOperand(n, [&](ValueId v) { Open(v); });
        continue;
      }
      if (node.kind == NodeKind::kOp && program.op_name(n) == kDetachInPlace) {
        continue;
      }
      const NodeEffects done = effects->Of(n);
      for (const ValueId v : done.writes) Open(v);
      if (!done.is_opaque) continue;
      program.ForEachOperand(n, [&](ValueId v) { Open(v); });
    }
  }

  void Open(ValueId v) {
    const uint32_t c = aliases_.class_of(v);
    if (c == AliasClasses::kNoClass) return;
    if (c >= is_open_.size()) is_open_.resize(c + 1, false);
    is_open_[c] = true;
  }
  bool IsOpen(ValueId v) const {
    const uint32_t c = aliases_.class_of(v);
    return c == AliasClasses::kNoClass || (c < is_open_.size() && is_open_[c]);
  }

 private:
  AliasClasses aliases_;
  std::vector<bool> is_open_;  // by class
};

}  // namespace

Sizes Literals(const std::vector<SymInt>& list) {
  Sizes out;
  for (const SymInt& i : list) out.push_back(i.value);
  return out;
}

class ConstantFinder {
 public:
  ConstantFinder(const Program& program, const FoldConstantsOptions& options,
                 bool nested, ConstantValues* out)
      : program_(program),
        options_(options),
        nested_(nested),
        out_(*out),
        effects_(program),
        evaluator_(program, interpreter_, unused_),
        bytes_left_(options.max_computed_bytes) {
    out_.slots_.assign(program.num_values(), ConstantValues::kNone);
  }

  void Run() {
    FindWrittenStorages();
    FindWrittenReferences();
    CountHolders();
    std::vector<bool> is_seen(program_.num_graphs(), false);
    std::vector<GraphId> open = {Program::kRoot};
    is_seen[Program::kRoot.index] = true;
    for (const GraphId g : GraphsOfDelegates(program_)) is_seen[g.index] = true;
    for (size_t i = 0; i < open.size(); ++i) {
      Visit(open[i]);
      if (!nested_) return;
      program_.ForEachCaller(open[i], [&](NodeId n) {
        if (!MayFoldInside(n)) return;
        program_.ForEachNestedGraph(n, [&](GraphId g) {
          if (is_seen[g.index]) return;
          is_seen[g.index] = true;
          BindInputs(n, g);
          open.push_back(g);
        });
      });
    }
  }

 private:
  // Through the signature.
  void FindWrittenStorages() {
    is_written_.assign(program_.state.storages.size(), false);
    for (const OutputSpec& output : program_.signature.outputs) {
      if (!output.state.valid()) continue;
      const StorageId storage = program_.state.get(output.state).storage;
      if (storage.valid()) is_written_[storage.index] = true;
    }
  }

  // References to state see what other graphs write to it.
  void FindWrittenReferences() {
    bool has_references = false;
    for (uint32_t g = 1; g < program_.num_graphs(); ++g) {
      if (program_.graph(GraphId(g)).is_erased) continue;
      has_references = FindWritten(GraphId(g)) || has_references;
    }
    // What the root writes, it finds out by itself.
    if (has_references) FindWritten(Program::kRoot);
  }

  // Whether the graph refers to state; notes which of it is written there.
  bool FindWritten(GraphId g) {
    std::vector<std::pair<StateId, ValueId>> references;
    for (const NodeId n : program_.nodes(g)) {
      const Node& node = program_.node(n);
      if (node.kind != NodeKind::kGetState) continue;
      references.emplace_back(node.state, node.results[0]);
    }
    for (size_t i = 0; g == Program::kRoot && i < program_.root().inputs.size();
         ++i) {
      const StateId state = program_.signature.inputs[i].state;
      if (state.valid())
        references.emplace_back(state, program_.root().inputs[i]);
    }
    if (references.empty()) return false;
    const OpenClasses classes(program_, g, &effects_);
    for (const auto& [state, value] : references) {
      const StorageId storage = program_.state.get(state).storage;
      if (storage.valid() && classes.IsOpen(value)) {
        is_written_[storage.index] = true;
      }
    }
    return true;
  }

  void CountHolders() {
    num_holders_.assign(program_.num_graphs(), 0);
    passed_.resize(program_.num_graphs());
    for (uint32_t g = 0; g < program_.num_graphs(); ++g) {
      if (program_.graph(GraphId(g)).is_erased) continue;
      program_.ForEachCaller(GraphId(g), [&](NodeId n) {
        program_.ForEachNestedGraph(
            n, [&](GraphId h) { ++num_holders_[h.index]; });
      });
    }
    // What a delegate was compiled from stays what it was.
    for (const GraphId g : GraphsOfDelegates(program_)) ++num_holders_[g.index];
  }

  // Control flow whose way of passing further operands is known. Autocast
  // would compute in another dtype.
  bool MayFoldInside(NodeId n) const {
    if (program_.node(n).kind != NodeKind::kOp) return false;
    const std::string_view name = program_.op_name(n);
    return FindHigherOrderConvention(name) != nullptr &&
           name != "higher_order.wrap_with_autocast";
  }

  // Inputs of a graph that one node holds, where the node passes constants.
  void BindInputs(NodeId holder, GraphId g) {
    if (num_holders_[g.index] != 1 ||
        !IsIn(kTransparent, program_.op_name(holder))) {
      return;
    }
    std::vector<ValueId> operands;
    const auto args = program_.args(holder);
    for (const OperandGroup& group :
         FindHigherOrderConvention(program_.op_name(holder))->groups) {
      for (size_t i = group.arg; i < args.size(); ++i) {
        if (args[i].has_items()) {
          for (const Arg& item : program_.args(args[i].list)) {
            operands.push_back(item.value());
          }
        } else {
          operands.push_back(args[i].value());
        }
        if (!group.is_rest) break;
      }
    }
    const std::vector<ValueId>& inputs = program_.graph(g).inputs;
    if (operands.size() != inputs.size()) return;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint32_t at =
          operands[i].valid() ? out_.Find(operands[i]) : ConstantValues::kNone;
      if (at == ConstantValues::kNone) continue;
      ConstantValue constant;
      constant.kind = Kind::kPassed;
      constant.value = inputs[i];
      constant.graph = g;
      constant.tensor = out_.all_[at].tensor;
      passed_[g.index].push_back(std::move(constant));
    }
  }

  void Visit(GraphId g) {
    OpenClasses classes(program_, g, &effects_);
    if (g == Program::kRoot) {
      for (size_t i = 0; i < program_.root().inputs.size(); ++i) {
        AddState(classes, g, program_.signature.inputs[i].state,
                 program_.root().inputs[i], NodeId());
      }
    }
    for (ConstantValue& constant : passed_[g.index]) {
      if (!classes.IsOpen(constant.value)) Add(std::move(constant));
    }
    for (const NodeId n : program_.nodes(g)) {
      const Node& node = program_.node(n);
      if (node.kind == NodeKind::kGetState) {
        AddState(classes, g, node.state, node.results[0], n);
      } else if (node.kind == NodeKind::kOp && MayCompute(classes, n)) {
        Compute(g, n);
      }
    }
  }

  void AddState(const OpenClasses& classes, GraphId g, StateId state,
                ValueId value, NodeId node) {
    if (!state.valid() || classes.IsOpen(value)) return;
    const StateEntry& entry = program_.state.get(state);
    if (entry.kind == StateKind::kObject || entry.is_pickled ||
        !entry.storage.valid() || is_written_[entry.storage.index] ||
        (entry.kind != StateKind::kConstant && !options_.weights)) {
      return;
    }
    const Type& type = program_.type(entry.type);
    const StorageRecord& record = program_.state.storage(entry.storage);
    if (record.is_weightless || !HasLiteralGeometry(type)) return;
    auto storage = Storage::BorrowConst(record.bytes, record.owner);
    const size_t alignment = std::max<size_t>(SizeBytes(type.dtype), 1);
    if (reinterpret_cast<uintptr_t>(storage->data()) % alignment != 0) return;
    ConstantValue constant;
    constant.tensor =
        Tensor(std::move(storage), type.dtype, Literals(type.sizes),
               Literals(type.strides), type.storage_offset.value);
    if (!constant.tensor.FitsStorage()) return;
    constant.value = value;
    constant.graph = g;
    constant.node = node;
    constant.state = state;
    Add(std::move(constant));
  }

  void Add(ConstantValue constant) {
    out_.slots_[constant.value.index] = static_cast<uint32_t>(out_.all_.size());
    out_.all_.push_back(std::move(constant));
  }

  // Before anything is computed: whether the node is one that may be folded.
  bool MayCompute(const OpenClasses& classes, NodeId n) {
    const Node& node = program_.node(n);
    const OpInfo& info = program_.context().op(node.op);
    if (info.schema == nullptr || info.is_higher_order) return false;
    bool is_constant = node.results.count > 0;
    program_.ForEachOperand(n, [&](ValueId v) {
      is_constant = is_constant && out_.Find(v) != ConstantValues::kNone;
    });
    if (!is_constant) return false;
    if (options_.keeps && options_.keeps(program_, n)) return false;
    bool is_used = false;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < node.results.count; ++i) {
      const Value& v = program_.value(node.results[i]);
      const Type& type = program_.type(v.type);
      if (!HasLiteralGeometry(type) || type.requires_grad ||
          classes.IsOpen(node.results[i])) {
        return false;
      }
      is_used = is_used || v.num_uses > 0;
      const auto reach = ReachBytes(type);
      if (!reach) return false;
      bytes = std::max(bytes, *reach);
    }
    // Dead code is another pass's.
    if (!is_used || bytes > options_.max_value_bytes) return false;
    const std::string_view name = program_.op_name(n);
    if (name == kDetachInPlace) return true;
    for (const std::string_view prefix : kUninitialised) {
      if (name.starts_with(prefix)) return false;
    }
    return !effects_.Of(n).any();
  }

  void Compute(GraphId g, NodeId n) {
    Results operands;
    program_.ForEachOperand(n, [&](ValueId v) {
      operands.emplace_back(out_.all_[out_.Find(v)].tensor);
    });
    const ValueRange values = program_.node(n).results;
    if (program_.op_name(n) == kDetachInPlace) {
      if (operands.size() == 1 && values.count == 1) {
        AddResult(g, n, values[0], operands[0].tensor(), Kind::kSame);
      }
      return;
    }
    unused_.Clear();
    const auto results = evaluator_.RunAlone(g, n, operands);
    if (!results) return;
    size_t num_views = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < values.count; ++i) {
      const Type& type = program_.type(values[i]);
      if (!(*results)[i].is_tensor()) return;
      const Tensor& tensor = (*results)[i].tensor();
      if (!tensor.defined() || tensor.dtype() != type.dtype ||
          tensor.sizes() != Literals(type.sizes)) {
        return;
      }
      bytes += tensor.storage()->size_bytes();
      num_views += std::any_of(operands.begin(), operands.end(),
                               [&](const RuntimeValue& operand) {
                                 return tensor.SharesStorage(operand.tensor());
                               });
    }
    if (num_views > 0 && num_views < values.count) return;
    const Kind kind = num_views > 0 ? Kind::kView : Kind::kComputed;
    if (kind == Kind::kComputed) {
      if (bytes > bytes_left_ || !CanBeStored(values)) return;
      bytes_left_ -= bytes;
    }
    for (uint32_t i = 0; i < values.count; ++i) {
      AddResult(g, n, values[i], (*results)[i].tensor(), kind);
    }
  }

  void AddResult(GraphId g, NodeId n, ValueId value, Tensor tensor, Kind kind) {
    ConstantValue constant;
    constant.kind = kind;
    constant.value = value;
    constant.graph = g;
    constant.node = n;
    constant.tensor = std::move(tensor);
    Add(std::move(constant));
  }

  // As tensors of their own, with the strides that the program states.
  bool CanBeStored(ValueRange values) const {
    for (uint32_t i = 0; i < values.count; ++i) {
      const Type& type = program_.type(values[i]);
      const Tensor stored(Storage::BorrowConst(Bytes(), nullptr), type.dtype,
                          Literals(type.sizes), Literals(type.strides), 0);
      if (type.storage_offset.value != 0 || !stored.is_dense()) return false;
    }
    return true;
  }

  const Program& program_;
  const FoldConstantsOptions& options_;
  const bool nested_;
  ConstantValues& out_;
  EffectAnalysis effects_;
  const InterpreterOptions interpreter_;
  Diagnostics unused_;  // why nodes couldn't be computed
  Evaluator evaluator_;
  uint64_t bytes_left_;
  std::vector<bool> is_written_;                    // by storage
  std::vector<uint32_t> num_holders_;               // by graph
  std::vector<std::vector<ConstantValue>> passed_;  // to inputs, by graph
};

ConstantValues::ConstantValues(const Program& program,
                               const FoldConstantsOptions& options,
                               bool nested) {
  ConstantFinder(program, options, nested, this).Run();
}

}  // namespace tenon
