#include "formats/tensorrt/raise_engines.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/tensorrt/engine_delegate.h"
#include "formats/tensorrt/engine_object.h"
#include "formats/tensorrt/engine_record.h"
#include "formats/tensorrt/lower_engines.h"

namespace tenon {
namespace {

class EngineRaising {
 public:
  EngineRaising(Program* program, EngineCallForm form, Diagnostics& diags)
      : program_(*program),
        context_(program->context()),
        form_(form),
        diags_(diags),
        engines_(program->delegates.size()) {
    for (const StateEntry& entry : program->state.entries) {
      fqns_.insert(entry.fqn);
    }
  }

  Status Run() {
    bool is_fine = true;
    for (size_t i = 0; i < engines_.size(); ++i) {
      if (IsEngine(i)) is_fine &= Print(i).ok();
    }
    // Beyond this point nothing can fail.
    if (!is_fine) return Failure{};
    for (uint32_t i = 0; i < program_.num_graphs(); ++i) {
      const GraphId g(i);
      if (program_.graph(g).is_erased) continue;
      for (const NodeId n : program_.nodes(g)) {
        const Node& node = program_.node(n);
        if (node.kind == NodeKind::kDelegateCall &&
            IsEngine(node.delegate.index)) {
          Replace(g, n);
        }
      }
    }
    RemoveDelegates();
    return {};
  }

 private:
  struct Engine {
    std::array<std::string, kNumEngineFields> fields;
    std::string object;  // its bytes; unused for placeholders
    StringId class_name;
    StateId state;  // once it is part of the state
    ValueId input;  // once it is an input of the root graph
  };

  bool IsEngine(size_t delegate) const {
    return program_.view(program_.delegates[delegate].backend) ==
           kEngineBackend;
  }

  Status Print(size_t delegate) {
    const Delegate& d = program_.delegates[delegate];
    const Place place =
        Place::Node("delegate '" + std::string(program_.view(d.name)) + "'");
    TENON_ASSIGN(const EngineRecord record,
                 RecordOfDelegate(program_, d, place, diags_));
    Engine& engine = engines_[delegate];
    TENON_ASSIGN(engine.fields, PrintEngineRecord(record, place, diags_));
    TENON_TRY(CheckPrinted(d, engine, place));
    if (form_ == EngineCallForm::kPlaceholder) return {};
    std::string_view class_name = FindMetadata(program_, d, kEngineClassKey);
    if (class_name.empty()) class_name = kTorchScriptEngineClass;
    engine.class_name = context_.Intern(class_name);
    TENON_ASSIGN(engine.object,
                 WriteEngineObject(engine.fields, class_name, place, diags_));
    return {};
  }

  // What was printed has to be what a reader of engine calls accepts.
  Status CheckPrinted(const Delegate& d, const Engine& engine,
                      const Place& place) {
    EngineStrings strings;
    for (const std::string& field : engine.fields) {
      strings.fields.push_back(field);
    }
    strings.fields[static_cast<size_t>(EngineField::kEngine)] =
        AsText(d.payload);
    strings.engine_is_raw = true;
    TENON_ASSIGN(const EngineRecord again,
                 ParseEngineRecord(strings, place, diags_));
    TENON_ASSIGN([[maybe_unused]] const auto outputs,
                 CheckEngineBindings(program_, again, d.inputs, d.outputs,
                                     place, diags_));
    return {};
  }

  void Replace(GraphId g, NodeId n) {
    const uint32_t delegate = program_.node(n).delegate.index;
    const ArgRange operands = program_.node(n).args;
    const ArgRange list = program_.NewArgs(operands.count);
    for (uint32_t i = 0; i < operands.count; ++i) {
      program_.CopyArg(operands[i], list[i], n);
      program_.SetArgLabel(list[i], StringId(), PassKind::kUnstated);
    }
    const bool is_object = form_ == EngineCallForm::kObject;
    const uint32_t num_args =
        1 + (is_object ? 1 : static_cast<uint32_t>(kNumEngineFields));
    const ArgRange args = program_.NewArgs(num_args);
    Set(args[0], is_object ? "input_tensors" : "inputs",
        Arg::OfList(ListTag::kTensors, list));
    if (is_object) {
      SetObject(g, n, args[1], delegate);
    } else {
      SetFields(args, delegate);
    }
    program_.ReplaceArgs(n, args);
    Node& node = program_.mutable_node(n);
    node.kind = NodeKind::kOp;
    node.op =
        context_.InternOp(is_object ? kExecuteEngine : kEnginePlaceholder);
    node.delegate = DelegateId();
    node.form = context_.InternForm(
        {{FormItem::Kind::kList, program_.node(n).results.count}});
  }

  void Set(ArgId at, std::string_view name, const Arg& arg) {
    program_.SetArg(at, arg);
    program_.SetArgLabel(at, context_.Intern(name), PassKind::kPositional);
  }

  // The parameters' names are those of the placeholder's schema.
  void SetFields(ArgRange args, uint32_t delegate) {
    constexpr std::string_view kParameters[kNumEngineFields] = {
        "abi_version",
        "name",
        "serialized_device_info",
        "serialized_engine",
        "serialized_in_binding_names",
        "serialized_out_binding_names",
        "serialized_hardware_compatible",
        "serialized_metadata",
        "serialized_target_platform",
        "serialized_require_output_allocator",
        "serialized_resource_allocation_strategy",
        "serialized_requires_native_multidevice",
        "serialized_aliased_io",
    };
    for (uint32_t i = 0; i < kNumEngineFields; ++i) {
      Set(args[i + 1], kParameters[i],
          Arg::String(context_.Intern(engines_[delegate].fields[i])));
    }
  }

  void SetObject(GraphId g, NodeId n, ArgId at, uint32_t delegate) {
    AddState(delegate);
    Engine& engine = engines_[delegate];
    if (g != Program::kRoot) {
      Set(at, "engine",
          Arg::Object(program_.state.get(engine.state).fqn, engine.class_name));
      return;
    }
    AddInput(delegate);
    program_.SetValueArg(at, n, engine.input);
    program_.SetArgLabel(at, context_.Intern("engine"), PassKind::kPositional);
  }

  // Delegates that came from one object go back into one.
  void AddState(uint32_t delegate) {
    Engine& engine = engines_[delegate];
    if (engine.state.valid()) return;
    const Delegate& d = program_.delegates[delegate];
    const std::string_view wanted = FindMetadata(program_, d, kEngineObjectKey);
    const auto key =
        std::make_pair(std::string(wanted),
                       HashBytes(engine.object.data(), engine.object.size()));
    const auto it = states_.find(key);
    if (it != states_.end()) {
      engine.state = it->second;
      return;
    }
    auto bytes = std::make_shared<const std::string>(std::move(engine.object));
    StorageRecord storage;
    storage.bytes = AsBytes(*bytes);
    storage.owner = std::move(bytes);
    StateEntry entry;
    entry.fqn = NewFqn(wanted.empty() ? program_.view(d.name) : wanted);
    entry.kind = StateKind::kObject;
    entry.type = ObjectType(engine);
    entry.storage = program_.state.AddStorage(std::move(storage));
    entry.is_pickled = true;
    engine.state = program_.state.Add(entry);
    states_.emplace(key, engine.state);
  }

  TypeId ObjectType(const Engine& engine) {
    Type type;
    type.kind = TypeKind::kObject;
    type.text = engine.class_name;
    return context_.types.Intern(std::move(type));
  }

  StringId NewFqn(std::string_view wanted) {
    StringId fqn = context_.Intern(wanted);
    for (uint64_t i = 1; !fqns_.insert(fqn).second; ++i) {
      fqn = context_.Intern(std::string(wanted) + "_" + std::to_string(i));
    }
    return fqn;
  }

  // L-1: objects stand behind constants and before tokens and user inputs.
  void AddInput(uint32_t delegate) {
    Engine& engine = engines_[delegate];
    ValueId& input = inputs_[engine.state.index];
    if (!input.valid()) {
      input = program_.AddInput(Program::kRoot, ObjectType(engine),
                                program_.state.get(engine.state).fqn);
      InputSpec spec;
      spec.kind = InputKind::kObject;
      spec.state = engine.state;
      MoveInputIntoPlace(spec);
    }
    engine.input = input;
  }

  void MoveInputIntoPlace(const InputSpec& spec) {
    auto& inputs = program_.mutable_graph(Program::kRoot).inputs;
    auto& specs = program_.signature.inputs;
    const auto it =
        std::find_if(specs.begin(), specs.end(), [](const InputSpec& s) {
          return s.kind == InputKind::kToken || s.kind == InputKind::kUserInput;
        });
    const auto at = static_cast<uint32_t>(it - specs.begin());
    specs.insert(it, spec);
    std::rotate(inputs.begin() + at, inputs.end() - 1, inputs.end());
    for (uint32_t i = at; i < inputs.size(); ++i) {
      program_.mutable_value(inputs[i]).index = i;
    }
    for (OutputSpec& output : program_.signature.outputs) {
      if (output.input != OutputSpec::kNoInput && output.input >= at) {
        ++output.input;
      }
    }
  }

  void RemoveDelegates() {
    std::vector<uint32_t> new_index(program_.delegates.size());
    std::vector<Delegate> kept;
    for (size_t i = 0; i < program_.delegates.size(); ++i) {
      new_index[i] = static_cast<uint32_t>(kept.size());
      if (!IsEngine(i)) kept.push_back(program_.delegates[i]);
    }
    program_.delegates = std::move(kept);
    for (uint32_t i = 0; i < program_.num_graphs(); ++i) {
      if (program_.graph(GraphId(i)).is_erased) continue;
      for (const NodeId n : program_.nodes(GraphId(i))) {
        Node& node = program_.mutable_node(n);
        if (node.kind == NodeKind::kDelegateCall) {
          node.delegate = DelegateId(new_index[node.delegate.index]);
        }
      }
    }
  }

  Program& program_;
  Context& context_;
  EngineCallForm form_;
  Diagnostics& diags_;
  std::vector<Engine> engines_;  // by delegate
  std::unordered_set<StringId> fqns_;
  std::map<std::pair<std::string, Digest>, StateId> states_;
  std::map<uint32_t, ValueId> inputs_;  // by state
};

}  // namespace

Status RaiseEngineCalls(Program* program, EngineCallForm form,
                        Diagnostics& diags) {
  return EngineRaising(program, form, diags).Run();
}

}  // namespace tenon
