// The nodes of a hybrid graph, but for operators.
#include <algorithm>

#include "formats/hybrid/node_members.h"

namespace tenon::hybrid {

ValueId GraphReader::GetState(Scope* scope, StateId state) {
  const NodeId n = program_.NewNode(NodeKind::kGetState);
  Node& node = program_.mutable_node(n);
  node.state = state;
  node.metadata = scope->metadata;
  node.name = context_.Intern(scope->node);
  const ValueId result = program_.NewResults(n, 1)[0];
  program_.mutable_value(result).type = program_.state.get(state).type;
  program_.mutable_value(result).name = program_.node(n).name;
  program_.Append(scope->graph, n);
  return result;
}

Expected<Item> GraphReader::GetAttr(Scope* scope, const NodeMembers& m,
                                    const JsonPath& path) {
  if (m.of == "module") {
    const auto at = scope->module->children.find(m.target);
    if (at == scope->module->children.end()) {
      return json_.Error(path, Rule::kGraph09)
             << "there is no module '" << m.target << "'";
    }
    Item item;
    item.kind = Item::Kind::kModule;
    item.module = at->second;
    return item;
  }
  if (m.of != "state") {
    return json_.Error(path)
           << "a get_attr is of state or module, not '" << m.of << "'";
  }
  const StateId state =
      state_.Find(scope->module->prefix + std::string(m.target));
  if (!state.valid()) {
    return json_.Error(path, Rule::kL2)
           << "there is no state '" << scope->module->prefix << m.target << "'";
  }
  return Item::Value(GetState(scope, state));
}

Expected<Item> GraphReader::SelectOfTensor(Scope* scope, const Item& tensor,
                                           const Item& index,
                                           const JsonPath& path) {
  // Like Python on a tensor: an int selects, a slice slices, on dimension 0.
  const bool is_slice = index.kind == Item::Kind::kSlice;
  const NodeId n = program_.NewOp(
      context_.InternOp(is_slice ? "aten.slice.Tensor" : "aten.select.int"),
      context_.Intern(scope->node));
  program_.mutable_node(n).metadata = scope->metadata;
  const OpSchema& schema = *program_.schema(n);
  std::vector<Item> args = {tensor, Item(Arg::Int(0))};
  if (is_slice) {
    args.insert(args.end(), index.items.begin(), index.items.end());
    if (args.back().arg.kind == ArgKind::kNone) args.back() = Item(Arg::Int(1));
  } else {
    args.push_back(index);
  }
  const ArgRange range = program_.NewArgs(static_cast<uint32_t>(args.size()));
  program_.SetArgRange(n, range);
  for (uint32_t i = 0; i < range.count; ++i) {
    program_.SetArgLabel(range[i], context_.Intern(schema.args[i].name),
                         PassKind::kPositional);
    TENON_TRY(Store(scope, n, range[i], args[i], &schema.args[i], path));
  }
  return Results(scope, n, nullptr, path);
}

Expected<Item> GraphReader::GetItem(Scope* scope, const NodeMembers& m,
                                    const JsonPath& path) {
  TENON_ASSIGN(std::vector<Item> args, ReadArgs(scope, m, path));
  if (args.size() != 2) {
    return json_.Error(path) << "a getitem has a structure and an index, not "
                             << args.size() << " arguments";
  }
  const Item &from = args[0], &index = args[1];
  if (from.is_value() && program_.type(from.arg.v.value).is_tensor()) {
    return SelectOfTensor(scope, from, index, path);
  }
  if (from.kind == Item::Kind::kDict) {
    if (index.is_leaf() && index.arg.kind == ArgKind::kString) {
      for (size_t i = 0; i < from.keys.size(); ++i) {
        if (from.keys[i] == index.arg.text) return from.items[i];
      }
      return json_.Error(path, Rule::kJ4)
             << "the dict has no key '" << context_.view(index.arg.text) << "'";
    }
    return json_.Error(path, Rule::kJ4) << "a dict is indexed by a string";
  }
  if (!from.is_sequence()) {
    return json_.Error(path, Rule::kJ4)
           << "what is indexed is neither a structure nor a tensor";
  }
  const auto size = static_cast<int64_t>(from.items.size());
  if (index.is_leaf() && index.arg.kind == ArgKind::kInt) {
    const int64_t i = index.arg.i < 0 ? index.arg.i + size : index.arg.i;
    if (i < 0 || i >= size) {
      return json_.Error(path, Rule::kJ4)
             << "index " << index.arg.i << " of " << size << " elements";
    }
    return from.items[static_cast<size_t>(i)];
  }
  if (index.kind == Item::Kind::kSlice) {
    return SliceOf(from, index, path);
  }
  return json_.Error(path, Rule::kJ4)
         << "a tuple or list is indexed by an int or a slice";
}

Expected<Item> GraphReader::SliceOf(const Item& from, const Item& slice,
                                    const JsonPath& path) {
  // As Python's slice.indices does it.
  const auto size = static_cast<int64_t>(from.items.size());
  const auto part = [&](size_t i) -> std::optional<int64_t> {
    const Arg& arg = slice.items[i].arg;
    if (!slice.items[i].is_leaf() || arg.kind != ArgKind::kInt) return {};
    return arg.i;
  };
  for (const Item& item : slice.items) {
    if (!item.is_leaf() ||
        (item.arg.kind != ArgKind::kInt && item.arg.kind != ArgKind::kNone)) {
      return json_.Error(path, Rule::kJ4) << "a slice is of ints and None";
    }
  }
  const int64_t step = part(2).value_or(1);
  if (step == 0) return json_.Error(path, Rule::kJ4) << "a slice of step 0";
  const auto clamp = [&](std::optional<int64_t> i, int64_t otherwise) {
    if (!i) return otherwise;
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    return std::clamp(*i < 0 ? *i + size : *i, low, high);
  };
  const int64_t start = clamp(part(0), step < 0 ? size - 1 : 0);
  const int64_t stop = clamp(part(1), step < 0 ? -1 : size);
  Item out = Item::Structure(from.kind, {});
  // A step beyond the end ends it, whatever its size.
  for (int64_t i = start; step < 0 ? i > stop : i < stop;) {
    out.items.push_back(from.items[static_cast<size_t>(i)]);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return out;
}

Expected<std::vector<Item>> GraphReader::BindCall(Scope* scope, Module* module,
                                                  const NodeMembers& m,
                                                  const JsonPath& path) {
  TENON_ASSIGN(std::vector<Item> args, ReadArgs(scope, m, path));
  TENON_ASSIGN(auto keywords, ReadKeywords(scope, m, path));
  const auto& placeholders = module->placeholders;
  std::vector<Item> bound(placeholders.size());
  std::vector<bool> is_bound(placeholders.size(), false);
  bool is_fine = true;
  const auto error = [&]() -> DiagnosticBuilder {
    is_fine = false;
    return json_.Error(path, Rule::kJ1) << "call of '" << m.target << "': ";
  };
  if (args.size() > placeholders.size()) {
    error() << args.size() << " positional arguments, but the child takes "
            << placeholders.size();
  }
  for (size_t i = 0; i < std::min(args.size(), bound.size()); ++i) {
    bound[i] = std::move(args[i]);
    is_bound[i] = true;
  }
  for (auto& [key, item] : keywords) {
    const auto at = std::find_if(
        placeholders.begin(), placeholders.end(),
        [&, wanted = key](const Placeholder& p) { return p.target == wanted; });
    if (at == placeholders.end()) {
      error() << "the child declares no parameter '" << key << "'";
      continue;
    }
    const auto i = static_cast<size_t>(at - placeholders.begin());
    if (is_bound[i]) {
      error() << "parameter '" << key << "' is passed twice";
      continue;
    }
    bound[i] = std::move(item);
    is_bound[i] = true;
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    if (is_bound[i]) continue;
    if (!placeholders[i].has_default) {
      error() << "parameter '" << placeholders[i].target << "' (input " << i
              << ") is not passed";
      continue;
    }
    TENON_ASSIGN(bound[i], Read(scope, placeholders[i].default_value, path));
  }
  if (!is_fine) return Failure{};
  return bound;
}

Expected<Item> GraphReader::CallModule(Scope* scope, const NodeMembers& m,
                                       const JsonPath& path) {
  const auto at = scope->module->children.find(m.target);
  if (at == scope->module->children.end()) {
    return json_.Error(path, Rule::kGraph09)
           << "there is no module '" << m.target << "' to call";
  }
  Module* module = at->second;
  if (module->is_open) {
    return json_.Error(path, Rule::kJ7)
           << "child '" << m.target << "' reaches itself";
  }
  TENON_ASSIGN(const std::vector<Item> bound, BindCall(scope, module, m, path));
  TENON_ASSIGN(
      const Instance* instance,
      module->is_opaque
          ? InstantiateOpaque(module, bound, m.has_val ? &m.val : nullptr, path)
          : Instantiate(module, bound, scope, path));

  const bool is_delegate = instance->delegate.valid();
  const NodeId n = program_.NewNode(is_delegate ? NodeKind::kDelegateCall
                                                : NodeKind::kChildCall);
  Node& node = program_.mutable_node(n);
  node.name = context_.Intern(m.name);
  node.metadata = scope->metadata;
  if (is_delegate) {
    node.delegate = instance->delegate;
  } else {
    node.child = instance->graph;
  }
  std::vector<ValueId> operands;
  for (const Item& item : bound) {
    ForEachLeaf(item, [&](const Arg& arg) {
      if (arg.is_value()) operands.push_back(arg.v.value);
    });
  }
  const ArgRange args =
      program_.NewArgs(static_cast<uint32_t>(operands.size()));
  program_.SetArgRange(n, args);
  for (uint32_t i = 0; i < args.count; ++i) {
    program_.SetArgLabel(args[i], StringId(), PassKind::kPositional);
    program_.SetValueArg(args[i], n, operands[i]);
  }
  Item returned = instance->returns;
  const std::vector<TypeId>& types = instance->result_types;
  const ValueRange results =
      program_.NewResults(n, static_cast<uint32_t>(types.size()));
  for (uint32_t i = 0; i < results.count; ++i) {
    program_.mutable_value(results[i]).type = types[i];
    program_.mutable_value(results[i]).name = context_.Intern(m.name);
  }
  program_.Append(scope->graph, n);
  ForEachLeaf(returned, [&](Arg& arg) {
    if (arg.is_value()) arg.v.value = results[arg.v.value.index];
  });
  return returned;
}

}  // namespace tenon::hybrid
