#include "formats/pt2/read_calls.h"

namespace tenon {
namespace {

constexpr std::array<JsonMember, 2> kEntry = {{{"fqn"}, {"signature", false}}};
constexpr std::array<JsonMember, 5> kCallSignature = {
    {{"inputs"},
     {"outputs"},
     {"in_spec"},
     {"out_spec"},
     {"forward_arg_names", false}}};
constexpr std::array<JsonMember, 3> kSpec = {
    {{"type"}, {"context"}, {"children_spec"}}};
constexpr int64_t kTreeSpecProtocol = 1;

constexpr std::string_view kDefaultDict = "collections.defaultdict";
constexpr std::array<JsonMember, 3> kDefaultDictContext = {
    {{"default_factory_module"}, {"default_factory_name"}, {"dict_context"}}};

struct Factory {
  std::string_view module, name;
};
// What a defaultdict may make: PyTorch imports the factory when it opens the
// file, and whoever reads a missing key calls it.
constexpr Factory kFactories[] = {
    {"builtins", "bool"},
    {"builtins", "bytes"},
    {"builtins", "complex"},
    {"builtins", "dict"},
    {"builtins", "float"},
    {"builtins", "frozenset"},
    {"builtins", "int"},
    {"builtins", "list"},
    {"builtins", "set"},
    {"builtins", "str"},
    {"builtins", "tuple"},
    {"collections", "Counter"},
    {"collections", "OrderedDict"},
    {"collections", "defaultdict"},
    {"collections", "deque"},
};

Status CheckFactory(const JsonInput& spec, const JsonElement& context,
                    const JsonPath& path) {
  TENON_ASSIGN(const auto m, spec.Members(context, path, kDefaultDictContext));
  const JsonPath name_path(path, "default_factory_name");
  TENON_ASSIGN(const std::string_view module,
               spec.String(m[0], JsonPath(path, "default_factory_module")));
  TENON_ASSIGN(const std::string_view name, spec.String(m[1], name_path));
  for (const Factory& known : kFactories) {
    if (known.module == module && known.name == name) return {};
  }
  return spec.Error(name_path, Rule::kFile07)
         << "the factory '" << module << "." << name << "' is not allowed";
}

// `path` is the place of the text; inside it, places are told by the text's
// own path.
Expected<TreeSpec> ReadSpecNode(const JsonInput& spec, const JsonElement& e,
                                const JsonPath& path) {
  std::string_view unknown;
  TENON_ASSIGN(const auto m,
               spec.Members(e, path, kSpec,
                            [&](std::string_view name, const JsonElement&) {
                              unknown = name;
                            }));
  // PyTorch doesn't take them either.
  if (unknown.data() != nullptr) {
    return spec.Error(path) << "unknown member '" << unknown << "'";
  }
  TreeSpec out;
  const JsonPath children_path(path, "children_spec");
  TENON_ASSIGN(const JsonArray children, spec.Array(m[2], children_path));
  if (m[0].is_null()) {
    if (!m[1].is_null() || children.size() != 0) {
      return spec.Error(path) << "a leaf with a context or children";
    }
    return out;
  }
  out.is_leaf = false;
  TENON_ASSIGN(const std::string_view type,
               spec.String(m[0], JsonPath(path, "type")));
  if (type.empty()) return spec.Error(path) << "an empty type name";
  out.type = type;
  if (type == kDefaultDict) {
    TENON_TRY(CheckFactory(spec, m[1], JsonPath(path, "context")));
  }
  std::string_view context;
  if (m[1].Get(&context)) {
    out.context = context;
  } else {
    out.context_is_json = true;
    AppendJsonElement(m[1], &out.context);
  }
  size_t i = 0;
  for (const auto child : children) {
    TENON_ASSIGN(TreeSpec node,
                 ReadSpecNode(spec, child, JsonPath(children_path, i++)));
    out.children.push_back(std::move(node));
  }
  return out;
}

Status ReadArguments(const JsonInput& json, const JsonElement& e,
                     const JsonPath& path, GraphReader* graph,
                     std::vector<ModuleCall::Argument>* out) {
  TENON_ASSIGN(const JsonArray array, json.Array(e, path));
  for (const auto item : array) {
    ModuleCall::Argument argument;
    TENON_ASSIGN(argument.value,
                 graph->ReadReference(item, JsonPath(path, out->size())));
    if (!argument.value.valid()) AppendJsonElement(item, &argument.json);
    out->push_back(std::move(argument));
  }
  return {};
}

Status ReadEntry(const JsonInput& json, const JsonElement& e,
                 const JsonPath& path, GraphReader* graph, Program* program,
                 ModuleCall* call) {
  TENON_ASSIGN(const auto m, json.Members(e, path, kEntry));
  TENON_ASSIGN(const std::string_view fqn,
               json.String(m[0], JsonPath(path, "fqn")));
  call->fqn = program->context().Intern(fqn);
  call->has_signature = m.has_value(1);
  if (!call->has_signature) return {};
  const JsonPath at(path, "signature");
  TENON_ASSIGN(const auto s, json.Members(m[1], at, kCallSignature));
  TENON_TRY(
      ReadArguments(json, s[0], JsonPath(at, "inputs"), graph, &call->inputs));
  TENON_TRY(ReadArguments(json, s[1], JsonPath(at, "outputs"), graph,
                          &call->outputs));
  const JsonPath in_path(at, "in_spec"), out_path(at, "out_spec");
  TENON_ASSIGN(const std::string_view in_text, json.String(s[2], in_path));
  TENON_ASSIGN(const std::string_view out_text, json.String(s[3], out_path));
  TENON_ASSIGN(call->in_spec, ReadTreeSpec(in_text, json, in_path));
  TENON_ASSIGN(call->out_spec, ReadTreeSpec(out_text, json, out_path));
  if (s.has_value(4)) {
    call->has_forward_arg_names = true;
    TENON_ASSIGN(call->forward_arg_names,
                 json.Strings(s[4], JsonPath(at, "forward_arg_names")));
  }
  return {};
}

}  // namespace

Expected<TreeSpec> ReadTreeSpec(std::string_view text, const JsonInput& json,
                                const JsonPath& path) {
  JsonInput spec;
  TENON_TRY(spec.Parse(AsBytes(text), false,
                       json.name() + ":" + path.ToString(), json.limits(),
                       json.diags()));
  TENON_ASSIGN(const JsonArray envelope, spec.Array(spec.root(), JsonPath()));
  if (envelope.size() != 2) {
    return spec.Error(JsonPath())
           << envelope.size() << " items, expected [protocol, spec]";
  }
  const JsonPath root;
  TENON_ASSIGN(const int64_t protocol,
               spec.Int(envelope.at(0), JsonPath(root, size_t{0})));
  if (protocol != kTreeSpecProtocol) {
    return spec.Error(JsonPath()) << "unknown protocol " << protocol;
  }
  return ReadSpecNode(spec, envelope.at(1), JsonPath(root, size_t{1}));
}

Status ReadModuleCalls(const JsonInput& json, const JsonElement& e,
                       const JsonPath& path, GraphReader* graph,
                       Program* program) {
  TENON_ASSIGN(const JsonArray entries, json.Array(e, path));
  program->has_root_module_call = false;
  size_t i = 0;
  for (const auto entry : entries) {
    ModuleCall call;
    TENON_TRY(
        ReadEntry(json, entry, JsonPath(path, i++), graph, program, &call));
    const bool is_root = i == 1 && program->view(call.fqn).empty();
    if (!is_root) {
      program->module_calls.push_back(std::move(call));
      continue;
    }
    program->has_root_module_call = true;
    program->in_spec = std::move(call.in_spec);
    program->out_spec = std::move(call.out_spec);
    program->forward_arg_names = std::move(call.forward_arg_names);
    program->has_forward_arg_names = call.has_forward_arg_names;
  }
  return {};
}

}  // namespace tenon
