#include "link/compose.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/clone.h"
#include "link/in_place.h"
#include "link/lift.h"

namespace tenon {
namespace {

using Substitution = std::unordered_map<ExprId, ExprId>;

class Composer {
 public:
  Composer(const CompositionPlan& plan, Diagnostics& diags)
      : plan_(plan),
        diags_(diags),
        program_(plan.parts[0]->shared_context()),
        context_(program_.context()),
        states_(plan.parts.size()) {
    for (const Program* part : plan.parts) {
      prepared_.push_back(part->Clone());
      WriteMutationsInPlace(&prepared_.back());
      Unlift(&prepared_.back());
    }
    root_ = program_.AddGraph("main");
    program_.file = plan.parts[0]->file;
    program_.file.verifiers = {"TRAINING"};
    program_.file.members.clear();
    program_.file.unknown_members.clear();
    program_.file.guards_code.clear();
  }

  Expected<Program> Run() {
    TENON_TRY(AddInputs());
    for (size_t c = 0; c < plan_.calls.size(); ++c) TENON_TRY(AddCall(c));
    TENON_TRY(SetOutputs());
    SetConvention();
    return std::move(program_);
  }

 private:
  using Wire = CompositionPlan::Wire;

  DiagnosticBuilder Error(Rule rule, size_t call) {
    return diags_.Error(
        rule, Place::Node("call " + std::to_string(call) + " of '" +
                          plan_.part_names[plan_.calls[call].part] + "'"));
  }

  // --- inputs of the whole ---

  Status AddInputs() {
    uint32_t count = static_cast<uint32_t>(plan_.input_names.size());
    const auto see = [&](const Wire& wire) {
      if (wire.call < 0) count = std::max(count, wire.index + 1);
    };
    for (const auto& call : plan_.calls) {
      for (const Wire& wire : call.args) see(wire);
    }
    for (const Wire& wire : plan_.outputs) see(wire);
    if (count > 100'000) {
      return diags_.Error(Rule::kJ1) << "the plan names input " << count - 1;
    }
    for (uint32_t i = 0; i < count; ++i) {
      const std::string name = i < plan_.input_names.size()
                                   ? plan_.input_names[i]
                                   : "in_" + std::to_string(i);
      program_.AddInput(root_, TypeId(), context_.Intern(name));
      program_.signature.inputs.push_back(InputSpec());
    }
    return {};
  }

  // The value of a wire; invalid after an error.
  Expected<ValueId> ValueOf(const Wire& wire, size_t call) {
    if (wire.call < 0) return program_.root().inputs[wire.index];
    if (static_cast<size_t>(wire.call) >= call ||
        wire.index >= results_[static_cast<size_t>(wire.call)].count) {
      return diags_.Error(Rule::kJ4)
             << "the plan names result " << wire.index << " of call "
             << wire.call << ", which isn't there yet";
    }
    return results_[static_cast<size_t>(wire.call)][wire.index];
  }

  // --- symbols ---

  ExprId FreshSymbol(ExprId symbol) {
    const Expr& e = context_.exprs.get(symbol);
    const std::string name(context_.view(e.text));
    std::string free = name;
    // "s77" -> "s77_1"; a name that starts like an unbacked one still does.
    for (int i = 1; !used_symbols_.insert(free).second; ++i) {
      free = name + "_" + std::to_string(i);
    }
    return free == name
               ? symbol
               : context_.exprs.Symbol(free, context_.view(e.assumptions));
  }

  ExprId AsExpr(const SymInt& s) {
    return s.is_literal() ? context_.exprs.Integer(s.value) : s.expr;
  }

  // Where a size of the part is a symbol, it is what the call passes there.
  void Unify(const SymInt& inside, const SymInt& outside, Substitution* map) {
    if (inside.is_literal()) return;
    if (context_.exprs.get(inside.expr).kind == ExprKind::kSymbol) {
      map->emplace(inside.expr, AsExpr(outside));
    }
  }

  void UnifyTypes(const Type& inside, const Type& outside, Substitution* map) {
    if (inside.is_tensor() && outside.is_tensor()) {
      for (size_t d = 0;
           d < std::min(inside.sizes.size(), outside.sizes.size()); ++d) {
        Unify(inside.sizes[d], outside.sizes[d], map);
      }
    } else if (inside.is_symbolic_scalar() && outside.is_symbolic_scalar()) {
      Unify(inside.sym, outside.sym, map);
    }
  }

  void AddFreshSymbols(const Type& type, Substitution* map) {
    const auto add = [&](const SymInt& s) {
      if (s.is_literal()) return;
      std::vector<ExprId> symbols;
      context_.exprs.CollectSymbols(s.expr, &symbols);
      for (const ExprId symbol : symbols) {
        if (map->count(symbol) == 0) map->emplace(symbol, FreshSymbol(symbol));
      }
    };
    for (const SymInt& s : type.sizes) add(s);
    for (const SymInt& s : type.strides) add(s);
    add(type.storage_offset);
    if (type.is_symbolic_scalar()) add(type.sym);
  }

  SymInt Replaced(const SymInt& s, const Substitution& map) {
    if (s.is_literal()) return s;
    const ExprId expr = context_.exprs.Substitute(s.expr, map);
    std::vector<ExprId> symbols;
    context_.exprs.CollectSymbols(expr, &symbols);
    if (symbols.empty()) {
      const auto value =
          context_.exprs.EvaluateInt(expr, [](ExprId) { return std::nullopt; });
      if (value) return SymInt::Literal(*value);
    }
    SymInt out = s;
    out.expr = expr;
    return out;
  }

  TypeId Replaced(TypeId id, const Substitution& map) {
    if (!id.valid() || map.empty()) return id;
    Type type = context_.types.get(id);
    for (SymInt& s : type.sizes) s = Replaced(s, map);
    for (SymInt& s : type.strides) s = Replaced(s, map);
    type.storage_offset = Replaced(type.storage_offset, map);
    if (type.is_symbolic_scalar()) type.sym = Replaced(type.sym, map);
    return context_.types.Intern(std::move(type));
  }

  // R-1: both sides' ranges hold.
  Status MergeRanges(const Program& part, const Substitution& map,
                     size_t call) {
    for (const SymbolRange& range : part.ranges) {
      if (!range.expr.valid()) continue;
      const SymInt replaced =
          Replaced(SymInt::Symbolic(range.expr, std::nullopt), map);
      if (replaced.is_literal()) {
        if ((range.min && replaced.value < *range.min) ||
            (range.max && replaced.value > *range.max)) {
          return Error(Rule::kSym01, call)
                 << "passes " << replaced.value << " for "
                 << context_.exprs.PrintInfix(range.expr)
                 << ", which is outside its range";
        }
        continue;
      }
      const auto at = std::find_if(
          program_.ranges.begin(), program_.ranges.end(),
          [&](const SymbolRange& r) { return r.expr == replaced.expr; });
      if (at == program_.ranges.end()) {
        SymbolRange added = range;
        added.expr = replaced.expr;
        if (replaced.expr != range.expr) {
          added.key = context_.exprs.PrintInfix(replaced.expr);
        }
        program_.ranges.push_back(std::move(added));
        continue;
      }
      if (range.min)
        at->min = std::max(at->min.value_or(*range.min), *range.min);
      if (range.max)
        at->max = std::min(at->max.value_or(*range.max), *range.max);
      if (at->min && at->max && *at->min > *at->max) {
        return Error(Rule::kSym01, call)
               << "no size fits all ranges of "
               << context_.exprs.PrintInfix(replaced.expr);
      }
    }
    return {};
  }

  // --- state ---

  // Entries of a part in the whole's table, once per part.
  const std::vector<StateId>& StatesOf(uint32_t part) {
    std::vector<StateId>& map = states_[part];
    const StateTable& from = prepared_[part].state;
    if (!map.empty() || from.entries.empty()) return map;
    const auto first = static_cast<uint32_t>(program_.state.storages.size());
    for (const StorageRecord& storage : from.storages) {
      program_.state.AddStorage(storage);
    }
    for (const StateEntry& entry : from.entries) {
      StateEntry copy = entry;
      if (copy.storage.valid()) {
        copy.storage = StorageId(first + copy.storage.index);
      }
      const std::string fqn(context_.view(entry.fqn));
      std::string free = fqn;
      for (int i = 1; !used_fqns_.insert(free).second; ++i) {
        free = fqn + "_" + std::to_string(i);
      }
      if (free != fqn) {
        copy.fqn = context_.Intern(free);
        diags_.Warning(Rule::kJ9, Place::Node(plan_.part_names[part]))
            << "'" << fqn << "' is called '" << free
            << "' in the whole: another part has state of that name";
      }
      map.push_back(program_.state.Add(copy));
    }
    return map;
  }

  // --- calls ---

  Status AddCall(size_t c) {
    const CompositionPlan::Call& call = plan_.calls[c];
    const Program& part = prepared_[call.part];
    const std::vector<ValueId> inputs = part.root().inputs;
    if (call.args.size() != inputs.size()) {
      return Error(Rule::kJ1, c)
             << "passes " << call.args.size() << " arguments, the part takes "
             << inputs.size();
    }
    std::vector<ValueId> args;
    Substitution map;
    for (size_t i = 0; i < inputs.size(); ++i) {
      TENON_ASSIGN(const ValueId arg, ValueOf(call.args[i], c));
      args.push_back(arg);
      const TypeId type = program_.value(arg).type;
      if (type.valid()) {
        UnifyTypes(part.type(inputs[i]), context_.types.get(type), &map);
      }
    }
    // An input of the whole that nothing has typed yet is the part's.
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (program_.value(args[i]).type.valid()) continue;
      AddFreshSymbols(part.type(inputs[i]), &map);
      program_.mutable_value(args[i]).type =
          Replaced(part.value(inputs[i]).type, map);
    }
    std::vector<TypeId> key;
    key.reserve(args.size());
    for (const ValueId arg : args) key.push_back(program_.value(arg).type);
    auto at = children_.find({call.part, KeyOf(key)});
    if (at == children_.end()) {
      TENON_ASSIGN(const GraphId child, Instantiate(call.part, &map, c));
      at = children_.emplace(std::pair(call.part, KeyOf(key)), child).first;
    }
    EmitCall(at->second, args);
    return {};
  }

  static std::vector<uint32_t> KeyOf(const std::vector<TypeId>& types) {
    std::vector<uint32_t> out;
    out.reserve(types.size());
    for (const TypeId t : types) out.push_back(t.index);
    return out;
  }

  Expected<GraphId> Instantiate(uint32_t part_index, Substitution* map,
                                size_t call) {
    const Program& part = prepared_[part_index];
    // Symbols that the part makes itself.
    for (uint32_t v = 0; v < part.num_values(); ++v) {
      const TypeId type = part.value(ValueId(v)).type;
      if (type.valid()) AddFreshSymbols(part.type(type), map);
    }
    TENON_TRY(MergeRanges(part, *map, call));
    for (const std::string& guard : part.file.guards_code) {
      diags_.Warning(Rule::kLintGuard01,
                     Place::Node(plan_.part_names[part_index]))
          << "the guard \"" << guard << "\" names the part's own inputs and "
          << "is left out";
    }
    const auto first_graph = static_cast<uint32_t>(program_.num_graphs());
    const size_t first_delegate = program_.delegates.size();
    const size_t first_region = program_.regions.size();
    CloneMap copies;
    const GraphId child = CloneGraph(part, Program::kRoot, &program_, &copies);
    program_.mutable_graph(child).name =
        context_.Intern(plan_.part_names[part_index]);
    program_.regions.insert(program_.regions.end(), part.regions.begin(),
                            part.regions.end());
    for (size_t d = first_delegate; d < program_.delegates.size(); ++d) {
      Delegate& delegate = program_.delegates[d];
      delegate.name = FreeDelegateName(delegate.name);
      for (TypeId& t : delegate.inputs) t = Replaced(t, *map);
      for (TypeId& t : delegate.outputs) t = Replaced(t, *map);
    }
    const std::vector<StateId>& states = StatesOf(part_index);
    for (uint32_t g = first_graph; g < program_.num_graphs(); ++g) {
      for (const ValueId v : program_.graph(GraphId(g)).inputs) {
        Retype(v, *map);
      }
      for (const NodeId n : program_.nodes(GraphId(g))) {
        Node& node = program_.mutable_node(n);
        if (node.kind == NodeKind::kGetState) {
          node.state = states[node.state.index];
        }
        if (node.region.valid()) {
          node.region = RegionId(node.region.index + first_region);
        }
        for (uint32_t i = 0; i < node.results.count; ++i) {
          Retype(node.results[i], *map);
        }
      }
    }
    return child;
  }

  void Retype(ValueId v, const Substitution& map) {
    Value& value = program_.mutable_value(v);
    value.type = Replaced(value.type, map);
  }

  StringId FreeDelegateName(StringId name) {
    const std::string base(context_.view(name));
    std::string free = base;
    for (int i = 1; !used_delegates_.insert(free).second; ++i) {
      free = base + "#" + std::to_string(i);
    }
    return context_.Intern(free);
  }

  void EmitCall(GraphId child, const std::vector<ValueId>& values) {
    const NodeId n = program_.NewNode(NodeKind::kChildCall);
    program_.mutable_node(n).child = child;
    program_.mutable_node(n).name = program_.graph(child).name;
    const ArgRange args =
        program_.NewArgs(static_cast<uint32_t>(values.size()));
    program_.SetArgRange(n, args);
    for (uint32_t i = 0; i < args.count; ++i) {
      program_.SetArgLabel(args[i], StringId(), PassKind::kPositional);
      program_.SetValueArg(args[i], n, values[i]);
    }
    const auto outputs = program_.outputs(child);
    std::vector<TypeId> types;
    for (const Arg& output : outputs) types.push_back(TypeOf(output));
    const ValueRange results =
        program_.NewResults(n, static_cast<uint32_t>(types.size()));
    for (uint32_t i = 0; i < results.count; ++i) {
      program_.mutable_value(results[i]).type = types[i];
      program_.mutable_value(results[i]).name = program_.graph(child).name;
    }
    program_.Append(root_, n);
    results_.push_back(results);
  }

  TypeId TypeOf(const Arg& output) {
    if (output.is_value()) return program_.value(output.v.value).type;
    Type type;
    if (output.kind == ArgKind::kInt) type.kind = TypeKind::kInt;
    if (output.kind == ArgKind::kBool) type.kind = TypeKind::kBool;
    if (output.kind == ArgKind::kInt || output.kind == ArgKind::kBool) {
      type.sym.value = output.i;
    } else if (output.kind == ArgKind::kFloat) {
      type.kind = TypeKind::kFloat;
      type.real = output.f;
    } else if (output.kind == ArgKind::kString) {
      type.kind = TypeKind::kString;
      type.text = output.text;
    }
    return context_.types.Intern(std::move(type));
  }

  // --- outputs of the whole ---

  Status SetOutputs() {
    const auto count = static_cast<uint32_t>(plan_.outputs.size());
    const ArgRange args = program_.NewArgs(count);
    program_.SetOutputs(root_, args);
    for (uint32_t i = 0; i < count; ++i) {
      TENON_ASSIGN(const ValueId v,
                   ValueOf(plan_.outputs[i], plan_.calls.size()));
      program_.SetValueArg(args[i], program_.root().output, v);
    }
    for (const ValueId v : program_.root().inputs) {
      if (program_.value(v).type.valid()) continue;
      return diags_.Error(Rule::kJ1, Place::Node(std::string(program_.view(
                                         program_.value(v).name))))
             << "no call takes this input, so its type isn't known";
    }
    program_.signature.outputs.assign(count, OutputSpec());
    return {};
  }

  void SetConvention() {
    const size_t count = program_.root().inputs.size();
    program_.in_spec = TreeSpec::Tuple(
        {TreeSpec::Tuple(std::vector<TreeSpec>(count, TreeSpec::Leaf())),
         TreeSpec::Dict({}, {})});
    for (const ValueId v : program_.root().inputs) {
      program_.forward_arg_names.emplace_back(
          program_.view(program_.value(v).name));
    }
    program_.has_forward_arg_names = true;
    program_.out_spec = plan_.outputs.size() == 1
                            ? TreeSpec::Leaf()
                            : TreeSpec::Tuple(std::vector<TreeSpec>(
                                  plan_.outputs.size(), TreeSpec::Leaf()));
  }

  const CompositionPlan& plan_;
  Diagnostics& diags_;
  Program program_;
  Context& context_;
  GraphId root_;
  std::vector<Program> prepared_;  // parts, unlifted, writing in place
  std::vector<std::vector<StateId>> states_;  // by part
  std::vector<ValueRange> results_;           // by call
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, GraphId> children_;
  std::set<std::string> used_symbols_, used_fqns_, used_delegates_;
};

}  // namespace

Expected<Program> Compose(const CompositionPlan& plan, Diagnostics& diags) {
  if (plan.parts.empty()) {
    return diags.Error(Rule::kUsage) << "a plan without parts";
  }
  for (const auto& call : plan.calls) {
    if (call.part >= plan.parts.size()) {
      return diags.Error(Rule::kUsage) << "a call of a part that isn't there";
    }
  }
  return Composer(plan, diags).Run();
}

}  // namespace tenon
