#include "formats/pt2/write_model.h"

#include <algorithm>

#include "formats/pt2/guard_code.h"
#include "formats/pt2/unknown_members.h"
#include "formats/pt2/write_graph.h"

namespace tenon {
namespace {

using namespace schema_minor;

void AppendTreeSpec(const TreeSpec& spec, std::string* out) {
  JsonObjectOut o(out);
  if (spec.is_leaf) {
    *o.Key("type") += "null";
    *o.Key("context") += "null";
  } else {
    o.Text("type", spec.type);
    if (spec.context_is_json) {
      *o.Key("context") += spec.context;
    } else {
      o.Text("context", spec.context);
    }
  }
  o.Key("children_spec");
  JsonArrayOut children(out);
  for (const TreeSpec& child : spec.children) {
    AppendTreeSpec(child, children.Item());
  }
  children.Close();
  o.Close();
}

class ModelWriter {
 public:
  ModelWriter(const Program& program, const NameTable& names, int64_t minor,
              std::vector<std::string>* notes, Diagnostics& diags)
      : program_(program),
        names_(names),
        minor_(minor),
        notes_(*notes),
        graph_(&program, &names, minor, &diags),
        diags_(diags) {}

  Expected<std::string> Write() {
    JsonObjectOut o(&out_);
    o.Key("graph_module");
    TENON_TRY(GraphModule());
    o.Key("opset_version");
    JsonObjectOut opset(&out_);
    for (const auto& [name, version] : program_.file.opset_version) {
      opset.Int(name, version);
    }
    opset.Close();
    o.Key("range_constraints");
    Ranges();
    o.Key("schema_version");
    JsonObjectOut version(&out_);
    version.Int("major", program_.file.schema_major);
    version.Int("minor", minor_);
    version.Close();
    AppendJsonStrings(program_.file.verifiers, o.Key("verifiers"));
    o.Text("torch_version", program_.file.torch_version);
    Guards(&o);
    o.Close();
    NoteDifferences();
    return WithUnknownMembers(program_, "", minor_, std::move(out_), &notes_);
  }

 private:
  Status GraphModule() {
    JsonObjectOut o(&out_);
    o.Key("graph");
    TENON_TRY(graph_.Graph(Program::kRoot, &out_));
    o.Key("signature");
    TENON_TRY(Signature());
    o.Key("module_call_graph");
    ModuleCalls();
    o.Key("metadata");
    JsonObjectOut metadata(&out_);
    for (const auto& [key, text] : program_.file.graph_module_metadata) {
      metadata.Text(key, text);
    }
    metadata.Close();
    const std::string& fields = program_.file.treespec_namedtuple_fields;
    if (minor_ >= kPassingKinds) {
      *o.Key("treespec_namedtuple_fields") +=
          !fields.empty() && IsJson(fields) ? fields : "{}";
    }
    o.Close();
    return {};
  }

  void Guards(JsonObjectOut* o) {
    const std::vector<std::string>& guards = program_.file.guards_code;
    if (minor_ < kRawRecords) {
      if (!guards.empty()) {
        notes_.push_back("the guards were left out: schema 8." +
                         std::to_string(minor_) + " has no place for them");
      }
      return;
    }
    // Older programs have none, which isn't the same as no guards.
    const bool states_guards = program_.file.has_guards_code &&
                               program_.file.schema_minor >= kRawRecords;
    if (!states_guards && guards.empty()) return;
    JsonArrayOut array(o->Key("guards_code"));
    for (const std::string& guard : guards) {
      if (IsHarmlessGuard(guard)) {
        AppendJsonString(guard, array.Item());
      } else {
        notes_.push_back("the guard '" + guard +
                         "' was left out: PyTorch would run it, and it is more "
                         "than a comparison");
      }
    }
    array.Close();
  }

  void NoteDifferences() {
    if (minor_ != program_.file.schema_minor) {
      notes_.push_back("the schema version became 8." + std::to_string(minor_) +
                       " from 8." + std::to_string(program_.file.schema_minor));
    }
    if (const size_t count = graph_.num_unknown_written(); count > 0) {
      notes_.push_back("unknown members of nodes were carried: " +
                       std::to_string(count));
    }
    if (const size_t count = graph_.num_unknown_left_out(); count > 0) {
      notes_.push_back("unknown members of nodes were left out: " +
                       std::to_string(count));
    }
  }

  Status Signature() {
    const auto& inputs = program_.root().inputs;
    const auto outputs = program_.outputs(Program::kRoot);
    const tenon::Signature& signature = program_.signature;
    if (signature.inputs.size() != inputs.size() ||
        signature.outputs.size() != outputs.size()) {
      return diags_.Error(Rule::kFile10, Place::File(program_.name))
             << "the signature has " << signature.inputs.size()
             << " inputs and " << signature.outputs.size()
             << " outputs, the graph " << inputs.size() << " and "
             << outputs.size();
    }
    JsonObjectOut o(&out_);
    o.Key("input_specs");
    JsonArrayOut input_specs(&out_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      input_specs.Item();
      Input(signature.inputs[i], inputs[i]);
    }
    input_specs.Close();
    o.Key("output_specs");
    JsonArrayOut output_specs(&out_);
    for (size_t i = 0; i < outputs.size(); ++i) {
      output_specs.Item();
      TENON_TRY(Output(signature.outputs[i], outputs[i], i));
    }
    output_specs.Close();
    o.Close();
    return {};
  }

  std::string_view Fqn(StateId state) const {
    return program_.view(program_.state.get(state).fqn);
  }

  void Input(const InputSpec& spec, ValueId v) {
    const Type& type = program_.type(v);
    JsonObjectOut o(&out_);
    if (spec.is_constant_input && type.is_literal()) {
      JsonObjectOut record(o.Key("constant_input"));
      record.Text("name", names_.value(v));
      graph_.Literal(type, record.Key("value"));
      record.Close();
      o.Close();
      return;
    }
    JsonObjectOut record(o.Key(Pt2Tag(spec.kind)));
    switch (spec.kind) {
      case InputKind::kUserInput:
        graph_.Reference(v, /*literal_inputs=*/true, record.Key("arg"));
        break;
      case InputKind::kParameter:
        graph_.Named(v, record.Key("arg"));
        record.Text("parameter_name", Fqn(spec.state));
        break;
      case InputKind::kBuffer:
        graph_.Named(v, record.Key("arg"));
        record.Text("buffer_name", Fqn(spec.state));
        record.Bool("persistent",
                    program_.state.get(spec.state).in_state_dict());
        break;
      case InputKind::kConstantTensor:
        graph_.Named(v, record.Key("arg"));
        record.Text("tensor_constant_name", Fqn(spec.state));
        break;
      case InputKind::kObject:
        graph_.Object(names_.value(v), type.text, record.Key("arg"));
        record.Text("custom_obj_name", Fqn(spec.state));
        break;
      case InputKind::kToken:
        graph_.Named(v, record.Key("arg"));
        break;
    }
    record.Close();
    o.Close();
  }

  Status Output(const OutputSpec& spec, const Arg& arg, size_t position) {
    JsonObjectOut o(&out_);
    JsonObjectOut record(o.Key(Pt2Tag(spec.kind)));
    record.Key("arg");
    if (spec.kind == OutputKind::kUserOutput) {
      TENON_TRY(graph_.Argument(arg, &out_));
    } else if (arg.is_value()) {
      graph_.Named(arg.v.value, &out_);
    } else {
      return diags_.Error(Rule::kFile10, Place::File(program_.name))
             << "output " << position << " is a literal, but its spec is '"
             << Name(spec.kind) << "'";
    }
    switch (spec.kind) {
      case OutputKind::kUserOutput:
      case OutputKind::kLossOutput:
      case OutputKind::kToken:
        break;
      case OutputKind::kBufferMutation:
        record.Text("buffer_name", Fqn(spec.state));
        break;
      case OutputKind::kParameterMutation:
      case OutputKind::kGradientToParameter:
        record.Text("parameter_name", Fqn(spec.state));
        break;
      case OutputKind::kUserInputMutation:
      case OutputKind::kGradientToUserInput:
        if (spec.input >= program_.root().inputs.size()) {
          return diags_.Error(Rule::kFile10, Place::File(program_.name))
                 << "output " << position << " writes input " << spec.input
                 << ", which the graph doesn't have";
        }
        record.Text("user_input_name",
                    names_.value(program_.root().inputs[spec.input]));
        break;
    }
    record.Close();
    o.Close();
    return {};
  }

  void ModuleCalls() {
    JsonArrayOut array(&out_);
    if (program_.has_root_module_call) {
      ModuleCall root;
      root.fqn = program_.context().Intern("");
      root.has_signature = program_.in_spec && program_.out_spec;
      root.in_spec = program_.in_spec;
      root.out_spec = program_.out_spec;
      root.forward_arg_names = program_.forward_arg_names;
      root.has_forward_arg_names = program_.has_forward_arg_names;
      array.Item();
      Call(root);
    }
    for (const ModuleCall& call : program_.module_calls) {
      array.Item();
      Call(call);
    }
    array.Close();
  }

  void Call(const ModuleCall& call) {
    JsonObjectOut o(&out_);
    o.Text("fqn", program_.view(call.fqn));
    // A signature that names a value that is gone would be a wrong one.
    if (!call.has_signature || !call.in_spec || !call.out_spec ||
        !IsAlive(call.inputs) || !IsAlive(call.outputs)) {
      if (call.has_signature) {
        notes_.push_back("the call signature of module '" +
                         std::string(program_.view(call.fqn)) +
                         "' was left out: values that it names are gone");
      }
      Null("signature", &o);
      o.Close();
      return;
    }
    JsonObjectOut signature(o.Key("signature"));
    signature.Key("inputs");
    Arguments(call.inputs);
    signature.Key("outputs");
    Arguments(call.outputs);
    signature.Text("in_spec", PrintTreeSpec(*call.in_spec));
    signature.Text("out_spec", PrintTreeSpec(*call.out_spec));
    if (call.has_forward_arg_names) {
      AppendJsonStrings(call.forward_arg_names,
                        signature.Key("forward_arg_names"));
    } else {
      Null("forward_arg_names", &signature);
    }
    signature.Close();
    o.Close();
  }

  // The oldest schema leaves out what is null.
  void Null(std::string_view member, JsonObjectOut* record) const {
    if (minor_ >= kPassingKinds) *record->Key(member) += "null";
  }

  static bool IsAlive(const std::vector<ModuleCall::Argument>& arguments) {
    return std::all_of(arguments.begin(), arguments.end(), [](const auto& a) {
      return a.value.valid() || IsJson(a.json);
    });
  }

  void Arguments(const std::vector<ModuleCall::Argument>& arguments) {
    JsonArrayOut array(&out_);
    for (const ModuleCall::Argument& argument : arguments) {
      array.Item();
      if (argument.value.valid()) {
        graph_.Reference(argument.value, /*literal_inputs=*/false, &out_);
      } else {
        out_ += argument.json;
      }
    }
    array.Close();
  }

  void Ranges() {
    JsonObjectOut o(&out_);
    for (const SymbolRange& range : program_.ranges) {
      o.Key(range.key.empty() ? program_.context().exprs.PrintInfix(range.expr)
                              : range.key);
      JsonObjectOut record(&out_);
      record.Key("min_val");
      Bound(range.min);
      record.Key("max_val");
      Bound(range.max);
      record.Close();
    }
    o.Close();
  }

  void Bound(const std::optional<int64_t>& bound) {
    if (bound) {
      AppendJsonInt(*bound, &out_);
    } else {
      out_ += "null";
    }
  }

  const Program& program_;
  const NameTable& names_;
  const int64_t minor_;
  std::vector<std::string>& notes_;
  GraphWriter graph_;
  Diagnostics& diags_;
  std::string out_;
};

}  // namespace

std::string PrintTreeSpec(const TreeSpec& spec) {
  std::string out = "[1, ";
  AppendTreeSpec(spec, &out);
  out += ']';
  return out;
}

int64_t MinorToWrite(const Program& program, const Pt2Release* release) {
  return release != nullptr ? release->schema_minor
                            : std::max(program.file.schema_minor, kRawRecords);
}

Expected<std::string> WriteModel(const Program& program, const NameTable& names,
                                 int64_t minor, std::vector<std::string>* notes,
                                 Diagnostics& diags) {
  return ModelWriter(program, names, minor, notes, diags).Write();
}

}  // namespace tenon
