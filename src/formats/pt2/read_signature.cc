#include "formats/pt2/read_signature.h"

namespace tenon {
namespace {

constexpr std::array<JsonMember, 2> kSignature = {
    {{"input_specs"}, {"output_specs"}}};
constexpr std::array<JsonMember, 1> kArg = {{{"arg"}}};
constexpr std::array<JsonMember, 2> kConstantInput = {{{"name"}, {"value"}}};
constexpr std::array<JsonMember, 2> kParameter = {
    {{"arg"}, {"parameter_name"}}};
constexpr std::array<JsonMember, 3> kBuffer = {
    {{"arg"}, {"buffer_name"}, {"persistent"}}};
constexpr std::array<JsonMember, 2> kTensorConstant = {
    {{"arg"}, {"tensor_constant_name"}}};
constexpr std::array<JsonMember, 2> kCustomObj = {
    {{"arg"}, {"custom_obj_name"}}};
constexpr std::array<JsonMember, 2> kBufferTarget = {
    {{"arg"}, {"buffer_name"}}};
constexpr std::array<JsonMember, 2> kUserInputTarget = {
    {{"arg"}, {"user_input_name"}}};
constexpr std::array<JsonMember, 1> kName = {{{"name"}}};
constexpr std::array<JsonMember, 2> kObject = {{{"name"}, {"class_fqn"}}};

class SignatureReader {
 public:
  SignatureReader(const JsonInput& json, GraphReader* graph,
                  const StateNames& state, Program* program)
      : json_(json),
        graph_(*graph),
        state_(state),
        program_(*program),
        context_(program->context()),
        fqns_(&context_.strings) {}

  Status Read(const JsonElement& signature, const JsonPath& path) {
    TENON_ASSIGN(const auto m, json_.Members(signature, path, kSignature));
    TENON_TRY(ReadInputs(m[0], JsonPath(path, "input_specs")));
    return ReadOutputs(m[1], JsonPath(path, "output_specs"));
  }

 private:
  Status ReadInputs(const JsonElement& e, const JsonPath& path) {
    TENON_ASSIGN(const JsonArray specs, json_.Array(e, path));
    const auto& inputs = program_.root().inputs;
    const size_t count = specs.size();
    if (count != inputs.size()) {
      return json_.Error(path, Rule::kFile10)
             << count << " input specs, but the graph has " << inputs.size()
             << " inputs";
    }
    size_t i = 0;
    for (const auto spec : specs) {
      const JsonPath at(path, i);
      TENON_ASSIGN(const JsonVariant v, json_.Variant(spec, at));
      TENON_ASSIGN(const InputSpec input,
                   ReadInput(v, JsonPath(at, v.tag), inputs[i]));
      program_.signature.inputs.push_back(input);
      ++i;
    }
    return {};
  }

  Expected<InputSpec> ReadInput(const JsonVariant& v, const JsonPath& path,
                                ValueId value) {
    InputSpec spec;
    if (v.tag == "user_input") {
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kArg));
      TENON_TRY(WantReference(m[0], JsonPath(path, "arg"), value, "input"));
      return spec;
    }
    if (v.tag == "constant_input") {
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kConstantInput));
      TENON_TRY(json_.String(m[0], JsonPath(path, "name")));
      TENON_TRY(json_.Variant(m[1], JsonPath(path, "value")));
      spec.is_constant_input = true;
      if (!program_.type(value).is_literal()) {
        return json_.Error(path, Rule::kFile10)
               << "a constant input, but the graph's input is a value";
      }
      return spec;
    }
    if (v.tag == "token") {
      spec.kind = InputKind::kToken;
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kArg));
      TENON_TRY(WantName(m[0], JsonPath(path, "arg"), value, "input"));
      return spec;
    }
    if (v.tag == "parameter") {
      spec.kind = InputKind::kParameter;
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kParameter));
      TENON_TRY(WantName(m[0], JsonPath(path, "arg"), value, "input"));
      TENON_ASSIGN(spec.state, FindState(m[1], JsonPath(path, "parameter_name"),
                                         state_.weights, nullptr));
      SetKind(spec.state, StateKind::kParameter);
      return spec;
    }
    if (v.tag == "buffer") {
      spec.kind = InputKind::kBuffer;
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kBuffer));
      TENON_TRY(WantName(m[0], JsonPath(path, "arg"), value, "input"));
      TENON_ASSIGN(const bool persistent,
                   json_.Bool(m[2], JsonPath(path, "persistent")));
      TENON_ASSIGN(spec.state,
                   FindState(m[1], JsonPath(path, "buffer_name"),
                             persistent ? state_.weights : state_.constants,
                             persistent ? &state_.constants : nullptr));
      SetKind(spec.state, persistent ? StateKind::kPersistentBuffer
                                     : StateKind::kNonPersistentBuffer);
      return spec;
    }
    if (v.tag == "tensor_constant") {
      spec.kind = InputKind::kConstantTensor;
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kTensorConstant));
      TENON_TRY(WantName(m[0], JsonPath(path, "arg"), value, "input"));
      TENON_ASSIGN(spec.state,
                   FindState(m[1], JsonPath(path, "tensor_constant_name"),
                             state_.constants, nullptr));
      SetKind(spec.state, StateKind::kConstant);
      return spec;
    }
    if (v.tag == "custom_obj") {
      spec.kind = InputKind::kObject;
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kCustomObj));
      const JsonPath arg_path(path, "arg");
      TENON_ASSIGN(const auto arg, json_.Members(m[0], arg_path, kObject));
      TENON_TRY(WantNamed(arg[0], arg_path, value, "input"));
      TENON_ASSIGN(spec.state,
                   FindState(m[1], JsonPath(path, "custom_obj_name"),
                             state_.constants, nullptr));
      StateEntry& entry = program_.state.entries[spec.state.index];
      entry.kind = StateKind::kObject;
      // The config doesn't know the class.
      entry.type = program_.value(value).type;
      return spec;
    }
    return json_.Error(path) << "unknown tag '" << v.tag << "'";
  }

  Status ReadOutputs(const JsonElement& e, const JsonPath& path) {
    TENON_ASSIGN(const JsonArray specs, json_.Array(e, path));
    const auto outputs = program_.outputs(Program::kRoot);
    const size_t count = specs.size();
    if (count != outputs.size()) {
      return json_.Error(path, Rule::kFile10)
             << count << " output specs, but the graph has " << outputs.size()
             << " outputs";
    }
    size_t i = 0;
    for (const auto spec : specs) {
      const JsonPath at(path, i);
      TENON_ASSIGN(const JsonVariant v, json_.Variant(spec, at));
      TENON_ASSIGN(const OutputSpec output,
                   ReadOutput(v, JsonPath(at, v.tag), outputs[i].value()));
      program_.signature.outputs.push_back(output);
      ++i;
    }
    return {};
  }

  Expected<OutputSpec> ReadOutput(const JsonVariant& v, const JsonPath& path,
                                  ValueId value) {
    OutputSpec spec;
    if (v.tag == "user_output") {
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kArg));
      TENON_TRY(WantReference(m[0], JsonPath(path, "arg"), value, "output"));
      return spec;
    }
    if (v.tag == "loss_output" || v.tag == "token") {
      spec.kind =
          v.tag == "token" ? OutputKind::kToken : OutputKind::kLossOutput;
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kArg));
      TENON_TRY(WantName(m[0], JsonPath(path, "arg"), value, "output"));
      return spec;
    }
    if (v.tag == "buffer_mutation") {
      spec.kind = OutputKind::kBufferMutation;
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kBufferTarget));
      TENON_TRY(WantName(m[0], JsonPath(path, "arg"), value, "output"));
      TENON_ASSIGN(spec.state, FindState(m[1], JsonPath(path, "buffer_name"),
                                         state_.weights, &state_.constants));
      return spec;
    }
    if (v.tag == "parameter_mutation" || v.tag == "gradient_to_parameter") {
      spec.kind = v.tag == "parameter_mutation"
                      ? OutputKind::kParameterMutation
                      : OutputKind::kGradientToParameter;
      TENON_ASSIGN(const auto m, json_.Members(v.value, path, kParameter));
      TENON_TRY(WantName(m[0], JsonPath(path, "arg"), value, "output"));
      TENON_ASSIGN(spec.state, FindState(m[1], JsonPath(path, "parameter_name"),
                                         state_.weights, nullptr));
      return spec;
    }
    if (v.tag == "user_input_mutation" || v.tag == "gradient_to_user_input") {
      spec.kind = v.tag == "user_input_mutation"
                      ? OutputKind::kUserInputMutation
                      : OutputKind::kGradientToUserInput;
      TENON_ASSIGN(const auto m,
                   json_.Members(v.value, path, kUserInputTarget));
      TENON_TRY(WantName(m[0], JsonPath(path, "arg"), value, "output"));
      const JsonPath name_path(path, "user_input_name");
      TENON_ASSIGN(const std::string_view name, json_.String(m[1], name_path));
      const ValueId input = graph_.Find(name);
      if (!input.valid() || !program_.value(input).is_input()) {
        return json_.Error(name_path, Rule::kFile10)
               << "'" << name << "' isn't an input of the graph";
      }
      spec.input = program_.value(input).index;
      return spec;
    }
    return json_.Error(path) << "unknown tag '" << v.tag << "'";
  }

  void SetKind(StateId state, StateKind kind) {
    program_.state.entries[state.index].kind = kind;
  }

  // An Argument record must mean `value`, or be a literal where that's invalid
  // or a literal input.
  Status WantReference(const JsonElement& argument, const JsonPath& path,
                       ValueId value, const char* what) {
    TENON_ASSIGN(const ValueId found, graph_.ReadReference(argument, path));
    const bool is_literal = !value.valid() || program_.type(value).is_literal();
    if (found == value || (!found.valid() && is_literal)) return {};
    return json_.Error(path, Rule::kFile10)
           << "the spec doesn't name the graph's " << what
           << " at its position";
  }

  // {"name": ...}
  Status WantName(const JsonElement& e, const JsonPath& path, ValueId value,
                  const char* what) {
    TENON_ASSIGN(const auto m, json_.Members(e, path, kName));
    return WantNamed(m[0], path, value, what);
  }
  Status WantNamed(const JsonElement& name_element, const JsonPath& path,
                   ValueId value, const char* what) {
    TENON_ASSIGN(const std::string_view name,
                 json_.String(name_element, JsonPath(path, "name")));
    if (value.valid() && graph_.Find(name) == value) return {};
    return json_.Error(path, Rule::kFile10)
           << "'" << name << "' isn't the graph's " << what
           << " at its position" << (value.valid() ? ", which is '" : "")
           << (value.valid() ? program_.view(program_.value(value).name)
                             : std::string_view())
           << (value.valid() ? "'" : "");
  }

  Expected<StateId> FindState(const JsonElement& e, const JsonPath& path,
                              const StateByName& names,
                              const StateByName* also) {
    TENON_ASSIGN(const std::string_view fqn, json_.String(e, path));
    const StringId id = fqns_.Find(fqn);
    StateId found = names.Find(id);
    if (!found.valid() && also != nullptr) found = also->Find(id);
    if (found.valid()) return found;
    return json_.Error(path, Rule::kFile10)
           << "'" << fqn << "' has no payload in the archive";
  }

  const JsonInput& json_;
  GraphReader& graph_;
  const StateNames& state_;
  Program& program_;
  Context& context_;
  NameStream fqns_;
};

}  // namespace

Expected<std::vector<StringId>> ReadLiteralNames(const JsonInput& json,
                                                 const JsonElement& signature,
                                                 const JsonPath& path,
                                                 Context* context) {
  // Only looks; ReadSignature judges the same records.
  JsonArray specs;
  std::vector<StringId> names;
  const JsonElement specs_element = signature["input_specs"];
  if (!specs_element.valid()) {
    return names;
  }
  const JsonPath specs_path(path, "input_specs");
  TENON_ASSIGN(specs, json.Array(specs_element, specs_path));
  for (const auto spec : specs) {
    std::string_view name;
    StringId id;
    if (spec["constant_input"]["name"].Get(&name)) {
      id = context->Intern(name);
    }
    names.push_back(id);
  }
  return names;
}

Status ReadSignature(const JsonInput& json, const JsonElement& signature,
                     const JsonPath& path, GraphReader* graph,
                     const StateNames& state, Program* program) {
  return SignatureReader(json, graph, state, program).Read(signature, path);
}

}  // namespace tenon
