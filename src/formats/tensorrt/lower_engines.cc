#include "formats/tensorrt/lower_engines.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/tensorrt/engine_delegate.h"
#include "formats/tensorrt/engine_object.h"
#include "formats/tensorrt/engine_record.h"
#include "ir/clone.h"
#include "ir/remove_state.h"

namespace tenon {
namespace {

class EngineLowering {
 public:
  EngineLowering(Program* program, Diagnostics& diags)
      : program_(*program),
        diags_(diags),
        record_by_state_(program->state.entries.size()),
        used_(program->state.entries.size()) {
    for (const Delegate& d : program->delegates) names_.insert(d.name);
    for (size_t i = 0; i < program->state.entries.size(); ++i) {
      const StateEntry& entry = program->state.entries[i];
      if (entry.kind == StateKind::kObject) {
        object_by_name_.emplace(entry.fqn, StateId(i));
      }
    }
  }

  Status Run() {
    bool is_fine = true;
    for (uint32_t i = 0; i < program_.num_graphs(); ++i) {
      const GraphId g(i);
      if (program_.graph(g).is_erased) continue;
      for (const NodeId n : program_.nodes(g)) {
        if (program_.node(n).kind != NodeKind::kOp) continue;
        const std::string_view op = program_.op_name(n);
        if (op != kExecuteEngine && op != kEnginePlaceholder) continue;
        is_fine &= Read(g, n, op == kEnginePlaceholder).ok();
      }
    }
    // Beyond this point nothing can fail.
    if (!is_fine) return Failure{};
    for (const Call& call : calls_) Replace(call);
    UpdateModuleCalls();
    RemoveUnusedState(used_, &program_);
    return {};
  }

 private:
  struct Engine {
    EngineRecord record;
    // Of the object that held it; empty for a placeholder.
    StringId object, object_class;
  };
  struct Call {
    GraphId graph;
    NodeId node;
    size_t engine;
    std::vector<ValueId> operands;
    std::vector<TypeId> inputs, outputs;
  };

  Status Read(GraphId g, NodeId n, bool is_placeholder) {
    const Place place = Place::Node(program_.Describe(g, n));
    Call call;
    call.graph = g;
    call.node = n;
    TENON_TRY(ReadOperands(n, place, &call));
    TENON_ASSIGN(call.engine, is_placeholder ? ReadPlaceholder(g, n, place)
                                             : ReadObject(g, n, place));
    const ValueRange results = program_.node(n).results;
    for (uint32_t r = 0; r < results.count; ++r) {
      call.outputs.push_back(program_.value(results[r]).type);
    }
    TENON_ASSIGN(call.outputs,
                 CheckEngineBindings(program_, engines_[call.engine].record,
                                     call.inputs, call.outputs, place, diags_));
    calls_.push_back(std::move(call));
    return {};
  }

  Status ReadOperands(NodeId n, const Place& place, Call* call) {
    const auto args = program_.args(n);
    if (args.empty() || args[0].kind != ArgKind::kList) {
      return diags_.Error(Rule::kEngine02, place)
             << "the first argument of an engine call isn't a list of tensors";
    }
    for (const Arg& item : program_.args(args[0].list)) {
      if (!item.is_value()) {
        return diags_.Error(Rule::kEngine02, place)
               << "operand " << call->operands.size()
               << " of the engine call is no tensor";
      }
      call->operands.push_back(item.v.value);
      call->inputs.push_back(program_.value(item.v.value).type);
    }
    return {};
  }

  Expected<size_t> ReadObject(GraphId g, NodeId n, const Place& place) {
    const auto args = program_.args(n);
    if (args.size() != 2) {
      return diags_.Error(Rule::kEngine01, place)
             << args.size()
             << " arguments, expected the tensors and the engine";
    }
    Engine engine;
    const StateId state = FindState(g, args[1], &engine.object_class);
    if (!state.valid() || !program_.state.get(state).storage.valid()) {
      return diags_.Error(Rule::kEngine01, place)
             << "the engine isn't an object that the program holds";
    }
    used_[state.index] = true;
    // An engine that is called twice is read once, and reported once.
    std::optional<size_t>& known = record_by_state_[state.index];
    if (known) {
      if (*known == kBroken) return Failure{};
      return *known;
    }
    known = kBroken;
    const StateEntry& entry = program_.state.get(state);
    const StorageRecord& storage = program_.state.storage(entry.storage);
    engine.object = entry.fqn;
    const Place object =
        Place::Node("engine '" + std::string(program_.view(entry.fqn)) + "'");
    TENON_ASSIGN(
        const EngineStrings strings,
        ReadEngineObject(storage.bytes, storage.owner, object, diags_));
    TENON_ASSIGN(engine.record, ParseEngineRecord(strings, object, diags_));
    known = engines_.size();
    engines_.push_back(std::move(engine));
    return *known;
  }

  // The state entry that an argument refers to, and the class as the program
  // states it.
  StateId FindState(GraphId g, const Arg& arg, StringId* class_name) {
    if (arg.kind == ArgKind::kObject) {
      *class_name = arg.object.class_fqn;
      const auto it = object_by_name_.find(arg.object.name);
      return it == object_by_name_.end() ? StateId() : it->second;
    }
    if (!arg.is_value()) return StateId();
    const ValueId v = arg.v.value;
    const Value& value = program_.value(v);
    *class_name = program_.type(value.type).text;
    if (!value.is_input()) {
      const Node& node = program_.node(value.def);
      return node.kind == NodeKind::kGetState ? node.state : StateId();
    }
    const auto& inputs = program_.root().inputs;
    if (g != Program::kRoot || value.index >= inputs.size() ||
        inputs[value.index] != v ||
        value.index >= program_.signature.inputs.size()) {
      return StateId();
    }
    return program_.signature.inputs[value.index].state;
  }

  Expected<size_t> ReadPlaceholder(GraphId g, NodeId n, const Place& place) {
    const auto args = program_.args(n);
    // Equal texts have equal ids: one record is read once.
    std::vector<uint32_t> key;
    EngineStrings strings;
    for (size_t i = 1; i < args.size(); ++i) {
      if (args[i].kind == ArgKind::kString) {
        strings.fields.push_back(program_.view(args[i].text));
        key.push_back(args[i].text.index);
      } else if (i - 1 == static_cast<size_t>(EngineField::kEngine) &&
                 args[i].is_value()) {
        TENON_ASSIGN(const StateId state,
                     ReadEngineTensor(g, args[i], place, &strings));
        key.push_back(state.index);
      } else {
        DiagnosticBuilder error = diags_.Error(Rule::kEngine01, place);
        error << "engine record, field " << i - 1;
        if (i - 1 < kNumEngineFields) {
          error << " '" << Name(static_cast<EngineField>(i - 1)) << "'";
        }
        error << ": not a string";
        return error;
      }
    }
    key.push_back(strings.engine_is_raw ? 1 : 0);
    const auto it = placeholders_.find(key);
    if (it != placeholders_.end()) return it->second;
    Engine engine;
    TENON_ASSIGN(engine.record, ParseEngineRecord(strings, place, diags_));
    placeholders_.emplace(std::move(key), engines_.size());
    engines_.push_back(std::move(engine));
    return engines_.size() - 1;
  }

  // The engine's bytes as a tensor of the state, which is returned.
  Expected<StateId> ReadEngineTensor(GraphId g, const Arg& arg,
                                     const Place& place,
                                     EngineStrings* strings) {
    StringId unused;
    const StateId state = FindState(g, arg, &unused);
    const auto fail = [&](std::string_view what) {
      return diags_.Error(Rule::kEngine01, place)
             << "engine record, field 3 'engine': " << what;
    };
    if (!state.valid() || !program_.state.get(state).storage.valid()) {
      return fail("neither a string nor a tensor that the program holds");
    }
    const StateEntry& entry = program_.state.get(state);
    const Type& type = program_.type(entry.type);
    const StorageRecord& storage = program_.state.storage(entry.storage);
    if (!type.is_tensor() || type.dtype != DType::kUInt8 || type.rank() != 1 ||
        !type.sizes[0].is_literal() || !type.strides[0].is_literal() ||
        (type.strides[0].value != 1 && type.sizes[0].value != 1) ||
        !type.storage_offset.is_literal()) {
      return fail("the tensor isn't a row of uint8");
    }
    const int64_t begin = type.storage_offset.value;
    const int64_t size = type.sizes[0].value;
    const auto available = static_cast<int64_t>(storage.bytes.size());
    if (begin < 0 || size < 0 || begin > available ||
        size > available - begin) {
      return fail("the tensor lies outside its storage");
    }
    used_[state.index] = true;
    strings->fields.push_back(
        AsText(storage.bytes)
            .substr(static_cast<size_t>(begin), static_cast<size_t>(size)));
    strings->engine_is_raw = true;
    strings->owner = storage.owner;
    return state;
  }

  void Replace(const Call& call) {
    const NodeId n = call.node;
    const DelegateId delegate = DelegateOf(call);
    Node& node = program_.mutable_node(n);
    node.kind = NodeKind::kDelegateCall;
    node.op = OpId();
    node.delegate = delegate;
    node.form = FormId();
    node.single_return = SingleReturn::kUnstated;
    const ArgRange args =
        program_.NewArgs(static_cast<uint32_t>(call.operands.size()));
    for (uint32_t i = 0; i < args.count; ++i) {
      program_.SetValueArg(args[i], n, Current(call.operands[i]));
      program_.SetArgLabel(args[i], StringId(), PassKind::kPositional);
    }
    program_.ReplaceArgs(n, args);
    const ValueRange old = program_.node(n).results;
    if (old.count == call.outputs.size()) return;
    const NodeId grown = ReplaceCall(&program_, call.graph, n, call.outputs);
    for (uint32_t r = 0; r < old.count; ++r) {
      moved_.emplace(old[r].index, program_.node(grown).results[r]);
    }
  }

  // They refer to values of the root graph.
  void UpdateModuleCalls() {
    for (ModuleCall& call : program_.module_calls) {
      for (auto* arguments : {&call.inputs, &call.outputs}) {
        for (ModuleCall::Argument& argument : *arguments) {
          argument.value = Current(argument.value);
        }
      }
    }
  }

  // Calls were read before results of earlier ones were replaced.
  ValueId Current(ValueId v) const {
    const auto it = moved_.find(v.index);
    return it == moved_.end() ? v : it->second;
  }

  DelegateId DelegateOf(const Call& call) {
    const auto key = std::make_tuple(call.engine, Indices(call.inputs),
                                     Indices(call.outputs));
    const auto it = delegates_.find(key);
    if (it != delegates_.end()) return it->second;
    const Engine& engine = engines_[call.engine];
    Context& context = program_.context();
    Delegate d =
        MakeEngineDelegate(engine.record, call.inputs, call.outputs, &context);
    if (program_.view(engine.object).size() > 0) {
      d.metadata.emplace_back(context.Intern(kEngineObjectKey), engine.object);
      d.metadata.emplace_back(context.Intern(kEngineClassKey),
                              engine.object_class);
    }
    d.name = NewName(d.name);
    const DelegateId id(program_.delegates.size());
    program_.delegates.push_back(std::move(d));
    delegates_.emplace(key, id);
    return id;
  }

  static std::vector<uint32_t> Indices(const std::vector<TypeId>& types) {
    std::vector<uint32_t> out;
    for (const TypeId type : types) out.push_back(type.index);
    return out;
  }

  // V-REGION-10: the record keeps the name that the engine has itself.
  StringId NewName(StringId wanted) {
    StringId name = wanted;
    while (!names_.insert(name).second) {
      name = program_.context().Intern(std::string(program_.view(wanted)) +
                                       "_" + std::to_string(++last_suffix_));
    }
    return name;
  }

  static constexpr size_t kBroken = ~size_t{0};

  Program& program_;
  Diagnostics& diags_;
  std::vector<std::optional<size_t>> record_by_state_;  // into engines_
  std::vector<bool> used_;                              // by state
  std::unordered_map<StringId, StateId> object_by_name_;
  std::map<std::vector<uint32_t>, size_t> placeholders_;  // into engines_
  std::vector<Engine> engines_;
  std::vector<Call> calls_;
  std::map<std::tuple<size_t, std::vector<uint32_t>, std::vector<uint32_t>>,
           DelegateId>
      delegates_;
  std::unordered_set<StringId> names_;
  std::unordered_map<uint32_t, ValueId> moved_;
  uint64_t last_suffix_ = 0;
};

}  // namespace

bool HasEngineCalls(const Program& program) {
  for (uint32_t i = 0; i < program.num_graphs(); ++i) {
    if (program.graph(GraphId(i)).is_erased) continue;
    for (const NodeId n : program.nodes(GraphId(i))) {
      if (program.node(n).kind != NodeKind::kOp) continue;
      const std::string_view op = program.op_name(n);
      if (op == kExecuteEngine || op == kEnginePlaceholder) return true;
    }
  }
  return false;
}

Status LowerEngineCalls(Program* program, Diagnostics& diags) {
  return EngineLowering(program, diags).Run();
}

}  // namespace tenon
