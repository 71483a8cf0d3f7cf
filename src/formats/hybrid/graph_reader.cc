#include "formats/hybrid/graph_reader.h"

#include <algorithm>

#include "formats/hybrid/node_members.h"
#include "ir/literal.h"

namespace tenon::hybrid {
namespace {

// Both graphs of an instance's boundary have its name.
std::string InstanceName(const Module& module) {
  return module.prefix.substr(0, module.prefix.size() - 1);
}

// Values, literals, and containers of them.
bool IsPlain(const Item& item) {
  if (item.kind == Item::Kind::kSlice || item.kind == Item::Kind::kModule) {
    return false;
  }
  return std::all_of(item.items.begin(), item.items.end(), IsPlain);
}

}  // namespace

Expected<Item> GraphReader::ReadRoot(Module* root,
                                     const std::vector<TypeId>& example_types) {
  Scope scope;
  scope.module = root;
  scope.graph = program_.AddGraph("main");
  for (size_t i = 0; i < root->placeholders.size(); ++i) {
    // Typed when its node is read.
    scope.bound.emplace_back();
    const TypeId type = i < example_types.size() ? example_types[i] : TypeId();
    const ValueId v = program_.AddInput(
        scope.graph, type, context_.Intern(root->placeholders[i].name));
    scope.bound.back() = Item::Value(v);
    program_.signature.inputs.push_back(InputSpec());
  }
  root->is_open = true;
  TENON_TRY(ReadNodes(&scope));
  root->is_open = false;
  return std::move(scope.returned);
}

Status GraphReader::ReadNodes(Scope* scope) {
  const JsonPath graph_path = JsonPath::At(scope->module->json_path);
  const JsonPath nodes_path(graph_path, "nodes");
  TENON_ASSIGN(const JsonArray nodes,
               json_.Array(scope->module->graph, nodes_path));
  size_t i = 0;
  for (const auto node : nodes) {
    const JsonPath at(nodes_path, i++);
    if (scope->has_output) {
      return json_.Error(at, Rule::kGraph08) << "a node after the output";
    }
    if (++num_nodes_ > options_.limits.max_nodes) {
      return json_.Error(at, Rule::kUnsupported)
             << num_nodes_ << " nodes, "
             << BeyondLimit(options_.limits, &ReadLimits::max_nodes);
    }
    TENON_TRY(ReadNode(scope, node, at));
  }
  if (!scope->has_output) {
    return json_.Error(nodes_path, Rule::kGraph08) << "no output node";
  }
  return {};
}

Status GraphReader::ReadNode(Scope* scope, const JsonElement& node,
                             const JsonPath& path) {
  TENON_ASSIGN(const NodeMembers m, NodeMembers::Read(json_, node, path));
  scope->node = m.name;
  scope->metadata = MetadataId();
  if (m.has_meta) {
    TENON_ASSIGN(scope->metadata, ReadMetadata(m.meta, JsonPath(path, "meta")));
  }
  if (m.op == "output") {
    TENON_ASSIGN(std::vector<Item> args, ReadArgs(scope, m, path));
    if (args.size() != 1) {
      return json_.Error(path)
             << "an output has one argument, not " << args.size();
    }
    scope->has_output = true;
    return SetReturned(scope, std::move(args[0]));
  }
  Item result;
  if (m.op == "placeholder") {
    result = std::move(scope->bound[scope->next_placeholder]);
    const bool is_root = scope->module->prefix.empty();
    if (is_root) {
      const ValueId v = result.arg.v.value;
      if (m.has_val) {
        TENON_ASSIGN(program_.mutable_value(v).type,
                     types_.Read(m.val, JsonPath(path, "val")));
      } else if (!program_.value(v).type.valid()) {
        return json_.Error(path, Rule::kGraph01)
               << "'" << m.name
               << "' has no type: neither 'val' nor an example call states one";
      }
      const Type& type = program_.type(v);
      if (type.is_literal()) {
        // S-6: fixed at export; what reads it gets the literal.
        program_.signature.inputs[scope->next_placeholder].is_constant_input =
            true;
        result = Item(LiteralOf(type));
      }
    }
    ++scope->next_placeholder;
  } else if (m.op == "get_attr") {
    TENON_ASSIGN(result, GetAttr(scope, m, path));
  } else if (m.op == "getitem") {
    TENON_ASSIGN(result, GetItem(scope, m, path));
  } else if (m.op == "call_module") {
    TENON_ASSIGN(result, CallModule(scope, m, path));
  } else if (m.op == "call") {
    TENON_ASSIGN(result, CallOperator(scope, m, path));
  } else {
    return json_.Error(JsonPath(path, "op"))
           << "unknown op '" << m.op
           << "', expected placeholder, get_attr, call, getitem, call_module, "
              "output";
  }
  if (!scope->names.emplace(m.name, std::move(result)).second) {
    return json_.Error(path, Rule::kFile10)
           << "two nodes of the graph are called '" << m.name << "'";
  }
  return {};
}

// [[key, text], ...]
Expected<MetadataId> GraphReader::ReadMetadata(const JsonElement& meta,
                                               const JsonPath& path) {
  TENON_ASSIGN(const JsonArray array, json_.Array(meta, path));
  Metadata out;
  for (const auto pair : array) {
    const JsonPath at(path, out.size());
    TENON_ASSIGN(const JsonArray parts, json_.Array(pair, at));
    if (parts.size() != 2) return json_.Error(at) << "expected [key, text]";
    TENON_ASSIGN(const std::string_view key,
                 json_.String(parts.at(0), JsonPath(at, size_t{0})));
    TENON_ASSIGN(const std::string_view text,
                 json_.String(parts.at(1), JsonPath(at, size_t{1})));
    out.emplace_back(context_.Intern(key), context_.Intern(text));
  }
  return context_.InternMetadata(std::move(out));
}

Status GraphReader::SetReturned(Scope* scope, Item returned) {
  const bool is_root = scope->module->prefix.empty();
  if (is_root && !IsPlain(returned)) {
    const JsonPath path = JsonPath::At(scope->module->json_path);
    return json_.Error(path, Rule::kSig09)
           << "the program returns a slice or a graph";
  }
  uint32_t count = 0;
  ForEachLeaf(std::as_const(returned), [&](const Arg& arg) {
    if (is_root || arg.is_value()) ++count;
  });
  const ArgRange args = program_.NewArgs(count);
  const NodeId output = program_.graph(scope->graph).output;
  program_.SetOutputs(scope->graph, args);
  uint32_t next = 0;
  ForEachLeaf(returned, [&](Arg& arg) {
    if (arg.is_value()) {
      program_.SetValueArg(args[next], output, arg.v.value);
      // The caller sees the number of the result.
      if (!is_root) arg.v.value = ValueId(next);
      ++next;
    } else if (is_root) {
      program_.SetArg(args[next++], arg);
    }
  });
  scope->returned = std::move(returned);
  return {};
}

std::string GraphReader::PatternOf(const std::vector<Item>& args) const {
  std::string pattern;
  for (const Item& item : args) {
    AppendPattern(context_, item, &pattern);
    ForEachLeaf(item, [&](const Arg& arg) {
      if (arg.is_value()) {
        pattern += std::to_string(program_.value(arg.v.value).type.index) + ' ';
      }
    });
  }
  return pattern;
}

Expected<Instance*> GraphReader::Instantiate(Module* module,
                                             const std::vector<Item>& args,
                                             Scope* caller,
                                             const JsonPath& path) {
  const std::string pattern = PatternOf(args);
  const auto known = module->instances.find(pattern);
  if (known != module->instances.end()) return known->second.get();
  if (module->is_open) {
    return json_.Error(path, Rule::kJ7)
           << "child '" << InstanceName(*module) << "' reaches itself";
  }
  if (depth_ >= options_.limits.max_depth) {
    return json_.Error(path, Rule::kUnsupported)
           << "calls nest too deep, "
           << BeyondLimit(options_.limits, &ReadLimits::max_depth);
  }
  Scope scope;
  scope.module = module;
  scope.graph = program_.AddGraph(InstanceName(*module));
  scope.bound = args;
  for (size_t i = 0; i < args.size(); ++i) {
    const StringId name = context_.Intern(module->placeholders[i].name);
    ForEachLeaf(scope.bound[i], [&](Arg& arg) {
      if (!arg.is_value()) return;
      const TypeId type = program_.value(arg.v.value).type;
      arg.v.value = program_.AddInput(scope.graph, type, name);
    });
  }
  scope.region = RegionOf(module, *caller);
  module->is_open = true;
  ++depth_;
  TENON_TRY(ReadNodes(&scope));
  --depth_;
  module->is_open = false;
  for (const NodeId n : program_.nodes(scope.graph)) {
    if (program_.node(n).kind != NodeKind::kOutput) {
      program_.mutable_node(n).region = scope.region;
    }
  }
  auto instance = std::make_unique<Instance>();
  instance->graph = scope.graph;
  instance->returns = std::move(scope.returned);
  for (const Arg& arg : program_.outputs(scope.graph)) {
    instance->result_types.push_back(program_.value(arg.v.value).type);
  }
  if (!module->backend.empty() && module->backend != "branch") {
    TENON_TRY(MakeDelegate(module, args, instance.get(), path));
  }
  caller->node = {};
  return module->instances.emplace(pattern, std::move(instance))
      .first->second.get();
}

Expected<Instance*> GraphReader::InstantiateOpaque(
    Module* module, const std::vector<Item>& args, const JsonElement* val,
    const JsonPath& path) {
  const std::string pattern = PatternOf(args);
  const auto known = module->instances.find(pattern);
  if (known != module->instances.end()) return known->second.get();
  for (const Item& item : args) {
    if (item.is_value()) continue;
    return json_.Error(path, Rule::kRegion05)
           << "engine '" << InstanceName(*module)
           << "' gets what isn't a tensor or a varying scalar";
  }
  if (val == nullptr) {
    return json_.Error(path, Rule::kGraph01)
           << "what engine '" << InstanceName(*module)
           << "' returns isn't stated by 'val'";
  }
  auto instance = std::make_unique<Instance>();
  const auto add = [&](const JsonElement& stated,
                       const JsonPath& at) -> Expected<Item> {
    TENON_ASSIGN(const TypeId type, types_.Read(stated, at));
    instance->result_types.push_back(type);
    return Item::Value(ValueId(instance->result_types.size() - 1));
  };
  const JsonPath val_path(path, "val");
  if (val->is_array()) {
    TENON_ASSIGN(const JsonArray array, json_.Array(*val, val_path));
    instance->returns = Item::Structure(Item::Kind::kTuple, {});
    for (const auto stated : array) {
      TENON_ASSIGN(
          Item item,
          add(stated, JsonPath(val_path, instance->returns.items.size())));
      instance->returns.items.push_back(std::move(item));
    }
  } else {
    TENON_ASSIGN(instance->returns, add(*val, val_path));
  }
  if (!module->output_names.empty() &&
      module->output_names.size() != instance->result_types.size()) {
    return json_.Error(path, Rule::kRegion09)
           << "engine '" << InstanceName(*module) << "' has "
           << module->output_names.size() << " output bindings, its call gives "
           << instance->result_types.size() << " values";
  }
  TENON_TRY(MakeDelegate(module, args, instance.get(), path));
  return module->instances.emplace(pattern, std::move(instance))
      .first->second.get();
}

Status GraphReader::SetPayload(const Module& module, Delegate* delegate,
                               const JsonPath& path) {
  if (!module.payload_key.empty()) {
    const Tensor* payload = state_.FindTensor(module.payload_key);
    if (payload == nullptr || payload->dtype() != DType::kUInt8 ||
        !payload->is_contiguous()) {
      return json_.Error(path, Rule::kFile04)
             << "engine '" << InstanceName(module)
             << "' has no payload of bytes called '" << module.payload_key
             << "'";
    }
    delegate->payload =
        Bytes(payload->raw(), static_cast<size_t>(payload->numel()));
    delegate->payload_owner = payload->storage();
  }
  delegate->payload_digest =
      HashBytes(delegate->payload.data(), delegate->payload.size());
  return {};
}

// One region per child, however often and in whatever way it is called. Nested
// graphs of control flow belong to the child that holds them.
RegionId GraphReader::RegionOf(Module* module, const Scope& caller) {
  if (module->backend == "branch") return caller.region;
  if (!module->region.valid()) {
    module->region = RegionId(program_.regions.size());
    program_.regions.push_back({context_.Intern(InstanceName(*module)),
                                context_.Intern(module->backend)});
  }
  return module->region;
}

Status GraphReader::MakeDelegate(Module* module, const std::vector<Item>& args,
                                 Instance* instance, const JsonPath& path) {
  Delegate d;
  std::string name = InstanceName(*module);
  if (!module->instances.empty()) {
    name += "#" + std::to_string(module->instances.size());
  }
  d.name = context_.Intern(name);
  d.backend = context_.Intern(module->backend);
  TENON_TRY(SetPayload(*module, &d, path));
  d.source = instance->graph;
  for (const Item& item : args) {
    ForEachLeaf(item, [&](const Arg& arg) {
      if (!arg.is_value()) return;
      d.inputs.push_back(program_.value(arg.v.value).type);
    });
  }
  d.outputs = instance->result_types;
  // Bindings are named one to one, or not at all.
  if (module->input_names.size() == d.inputs.size()) {
    for (const std::string& binding : module->input_names) {
      d.input_names.push_back(context_.Intern(binding));
    }
  }
  if (module->output_names.size() == d.outputs.size()) {
    for (const std::string& binding : module->output_names) {
      d.output_names.push_back(context_.Intern(binding));
    }
  }
  // Writes are told by placeholder and by leaf of what is returned.
  std::vector<int64_t> inputs, outputs;
  int64_t next = 0;
  for (const Item& item : args) {
    inputs.push_back(item.is_value() ? next : -1);
    ForEachLeaf(item, [&](const Arg& arg) { next += arg.is_value() ? 1 : 0; });
  }
  ForEachLeaf(instance->returns, [&](const Arg& arg) {
    outputs.push_back(arg.is_value() ? int64_t{arg.v.value.index} : -1);
  });
  for (const WriteRecord& w : module->writes) {
    const auto in = static_cast<size_t>(w.input);
    const auto out = static_cast<size_t>(w.output);
    if (in >= inputs.size() || inputs[in] < 0 || out >= outputs.size() ||
        outputs[out] < 0) {
      return json_.Error(path, Rule::kRegion07)
             << "child '" << name << "' declares that output " << w.output
             << " is input " << w.input << ", but it has " << outputs.size()
             << " outputs and " << inputs.size()
             << " inputs, both of which must be tensors";
    }
    d.writes.push_back({static_cast<uint32_t>(inputs[in]),
                        static_cast<uint32_t>(outputs[out]), w.kind});
  }
  instance->delegate = DelegateId(program_.delegates.size());
  program_.delegates.push_back(std::move(d));
  return {};
}

Expected<Instance*> GraphReader::NestedGraph(Scope* scope, Module* module,
                                             const std::vector<Item>& operands,
                                             const JsonPath& path) {
  if (module->placeholders.size() != operands.size()) {
    return json_.Error(path, Rule::kOp09)
           << "the graph takes " << module->placeholders.size()
           << " inputs, the operator passes " << operands.size();
  }
  return Instantiate(module, operands, scope, path);
}

}  // namespace tenon::hybrid
