#include "formats/hybrid/module.h"

#include <unordered_set>

namespace tenon::hybrid {
namespace {

constexpr std::array<JsonMember, 8> kChild = {{{"graph", false},
                                               {"backend", false},
                                               {"aliases", false},
                                               {"modules", false},
                                               {"same_as", false},
                                               {"payload", false},
                                               {"inputs", false},
                                               {"outputs", false}}};
constexpr std::array<JsonMember, 3> kAlias = {
    {{"output"}, {"input"}, {"kind"}}};
constexpr std::array<JsonMember, 1> kGraph = {{{"nodes"}}};

}  // namespace

Status ModuleTree::Read(const JsonElement& graph, const JsonElement* modules) {
  Module* root = Add("", "$.graph");
  TENON_TRY(ReadGraph(root, graph));
  if (modules != nullptr) {
    TENON_TRY(ReadChildren(root, *modules, "$.modules"));
  }
  return ResolveAliases();
}

Module* ModuleTree::Add(std::string prefix, std::string json_path) {
  all_.push_back(std::make_unique<Module>());
  Module* module = all_.back().get();
  module->prefix = std::move(prefix);
  module->json_path = std::move(json_path);
  by_path_.emplace(module->prefix, module);
  return module;
}

Status ModuleTree::ReadGraph(Module* module, const JsonElement& graph) {
  const JsonPath path = JsonPath::At(module->json_path);
  TENON_ASSIGN(const auto m, json_.Members(graph, path, kGraph));
  module->graph = m[0];
  const JsonPath nodes_path(path, "nodes");
  TENON_ASSIGN(const JsonArray nodes, json_.Array(m[0], nodes_path));
  size_t i = 0;
  std::unordered_set<std::string_view> targets;
  for (const auto node : nodes) {
    const JsonPath at(nodes_path, i++);
    TENON_ASSIGN(const JsonObject object, json_.Object(node, at));
    std::string_view op;
    if (!object["op"].Get(&op) || op != "placeholder") {
      continue;
    }
    TENON_TRY(ReadPlaceholder(module, node, at));
    const std::string_view target = module->placeholders.back().target;
    if (!targets.insert(target).second) {
      return json_.Error(at, Rule::kGraph13)
             << "two placeholders are declared as '" << target << "'";
    }
  }
  return {};
}

Status ModuleTree::ReadPlaceholder(Module* module, const JsonElement& node,
                                   const JsonPath& path) {
  static constexpr std::array<JsonMember, 4> kMembers = {
      {{"name"}, {"target", false}, {"args", false}, {"op"}}};
  TENON_ASSIGN(const auto m,
               json_.Members(node, path, kMembers,
                             [](std::string_view, const JsonElement&) {}));
  Placeholder out;
  TENON_ASSIGN(out.name, json_.String(m[0], JsonPath(path, "name")));
  out.target = out.name;
  if (m.has_value(1)) {
    TENON_ASSIGN(out.target, json_.String(m[1], JsonPath(path, "target")));
  }
  if (m.has_value(2)) {
    const JsonPath args_path(path, "args");
    TENON_ASSIGN(const JsonArray args, json_.Array(m[2], args_path));
    if (args.size() > 1) {
      return json_.Error(args_path) << "a placeholder has one default at most";
    }
    if (args.size() == 1) {
      out.default_value = args.at(0);
      out.has_default = true;
    }
  }
  module->placeholders.push_back(out);
  return {};
}

Status ModuleTree::ReadChildren(Module* parent, const JsonElement& modules,
                                const std::string& json_path) {
  const JsonPath path = JsonPath::At(json_path);
  TENON_ASSIGN(const JsonObject object, json_.Object(modules, path));
  for (const auto field : object) {
    if (parent->children.find(field.key) != parent->children.end()) {
      return json_.Error(path) << "module '" << field.key << "' is there twice";
    }
    TENON_TRY(ReadChild(parent, field.key, field.value,
                        JsonPath(path, field.key).ToString()));
  }
  return {};
}

Status ModuleTree::ReadChild(Module* parent, std::string_view path,
                             const JsonElement& child,
                             const std::string& json_path) {
  const JsonPath at = JsonPath::At(json_path);
  TENON_ASSIGN(const auto m, json_.Members(child, at, kChild));
  if (m.has_value(4)) {
    TENON_ASSIGN(const std::string_view target,
                 json_.String(m[4], JsonPath(at, "same_as")));
    parent->children.emplace(path, nullptr);
    aliases_.push_back(
        {parent, std::string(path), std::string(target) + ".", json_path});
    return {};
  }
  Module* module =
      Add(parent->prefix + std::string(path) + ".", json_path + ".graph");
  parent->children.emplace(path, module);
  if (m.has_value(1)) {
    TENON_ASSIGN(module->backend, json_.String(m[1], JsonPath(at, "backend")));
  }
  if (m.has_value(5)) {
    TENON_ASSIGN(module->payload_key,
                 json_.String(m[5], JsonPath(at, "payload")));
  }
  if (m.has_value(0)) {
    TENON_TRY(ReadGraph(module, m[0]));
  } else if (module->backend.empty() || module->payload_key.empty() ||
             !m.has_value(6)) {
    return json_.Error(at) << "neither a 'graph' nor an engine's 'backend', "
                              "'payload', 'inputs'";
  } else {
    module->is_opaque = true;
  }
  const JsonElement inputs = m.OrNone(6), outputs = m.OrNone(7);
  TENON_TRY(ReadBindings(module, inputs.valid() ? &inputs : nullptr,
                         outputs.valid() ? &outputs : nullptr, at));
  if (m.has_value(2)) {
    TENON_TRY(ReadWrites(module, m[2], JsonPath(at, "aliases")));
  }
  if (m.has_value(3)) {
    TENON_TRY(ReadChildren(module, m[3], json_path + ".modules"));
  }
  return {};
}

Status ModuleTree::ReadBindings(Module* module, const JsonElement* inputs,
                                const JsonElement* outputs,
                                const JsonPath& path) {
  if (inputs != nullptr) {
    TENON_ASSIGN(module->input_names,
                 json_.Strings(*inputs, JsonPath(path, "inputs")));
  }
  if (outputs != nullptr) {
    TENON_ASSIGN(module->output_names,
                 json_.Strings(*outputs, JsonPath(path, "outputs")));
  }
  if (!module->is_opaque) return {};
  // Parameters of calls are the bindings, by position or by name.
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : module->input_names) {
    if (!seen.insert(name).second) {
      return json_.Error(path, Rule::kGraph13)
             << "two input bindings are called '" << name << "'";
    }
    Placeholder placeholder;
    placeholder.name = placeholder.target = name;
    module->placeholders.push_back(placeholder);
  }
  return {};
}

Status ModuleTree::ReadWrites(Module* module, const JsonElement& aliases,
                              const JsonPath& path) {
  TENON_ASSIGN(const JsonArray array, json_.Array(aliases, path));
  for (const auto item : array) {
    const JsonPath at(path, module->writes.size());
    TENON_ASSIGN(const auto m, json_.Members(item, at, kAlias));
    WriteRecord out;
    TENON_ASSIGN(out.output, json_.Int(m[0], JsonPath(at, "output")));
    TENON_ASSIGN(out.input, json_.Int(m[1], JsonPath(at, "input")));
    TENON_ASSIGN(const std::string_view kind,
                 json_.String(m[2], JsonPath(at, "kind")));
    if (kind != "user" && kind != "kv_cache_update") {
      return json_.Error(at, Rule::kRegion07)
             << "a write of unknown kind '" << kind << "'";
    }
    out.kind = kind == "user" ? WriteKind::kUser : WriteKind::kKvCacheUpdate;
    module->writes.push_back(out);
  }
  return {};
}

Status ModuleTree::ResolveAliases() {
  for (const Alias& alias : aliases_) {
    const auto at = by_path_.find(alias.target);
    if (at == by_path_.end()) {
      const JsonPath path = JsonPath::At(alias.json_path);
      return json_.Error(JsonPath(path, "same_as"), Rule::kGraph09)
             << "there is no module '"
             << alias.target.substr(0, alias.target.size() - 1) << "'";
    }
    alias.parent->children[alias.path] = at->second;
  }
  return {};
}

}  // namespace tenon::hybrid
