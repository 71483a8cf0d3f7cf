#include "formats/hybrid/convention.h"

#include <algorithm>

namespace tenon::hybrid {
namespace {

std::string JoinedPath(std::string_view key, std::string path) {
  std::replace(path.begin(), path.end(), '.', '_');
  return path.empty() ? std::string(key) : std::string(key) + "_" + path;
}

bool IsContainer(std::string_view tag) {
  return tag == "tuple" || tag == "list" || tag == "dict";
}

}  // namespace

// --- specs as the document states them ---

Status ConventionReader::ReadSpecInto(const JsonElement& spec,
                                      const JsonPath& path, TreeSpec* out,
                                      std::vector<int64_t>* order) {
  TENON_ASSIGN(const JsonVariant v, json_.Variant(spec, path));
  const JsonPath at(path, v.tag);
  if (v.tag == "leaf") {
    TENON_ASSIGN(const int64_t leaf, json_.Int(v.value, at));
    order->push_back(leaf);
    *out = TreeSpec::Leaf();
    return {};
  }
  if (v.tag == "node") {
    // Any registered container, verbatim (S-7): type, context, children.
    TENON_ASSIGN(const JsonArray parts, json_.Array(v.value, at));
    if (parts.size() != 3) {
      return json_.Error(at) << "expected [type, context, children]";
    }
    out->is_leaf = false;
    TENON_ASSIGN(const std::string_view type,
                 json_.String(parts.at(0), JsonPath(at, size_t{0})));
    out->type = std::string(type);
    std::string_view context;
    const JsonElement stated = parts.at(1);
    out->context_is_json = !stated.Get(&context);
    if (out->context_is_json) {
      AppendJsonElement(stated, &out->context);
    } else {
      out->context = context;
    }
    const JsonPath children_path(at, size_t{2});
    TENON_ASSIGN(const JsonArray array,
                 json_.Array(parts.at(2), children_path));
    for (const auto item : array) {
      TreeSpec child;
      TENON_TRY(ReadSpecInto(
          item, JsonPath(children_path, out->children.size()), &child, order));
      out->children.push_back(std::move(child));
    }
    return {};
  }
  if (!IsContainer(v.tag)) {
    return json_.Error(path) << "unknown container '" << v.tag
                             << "', expected leaf, tuple, list, dict";
  }
  return ReadContainer(v, at, out,
                       [&](const JsonElement& child, const JsonPath& child_path,
                           TreeSpec* child_spec) {
                         return ReadSpecInto(child, child_path, child_spec,
                                             order);
                       });
}

template <typename ReadChild>
Status ConventionReader::ReadContainer(const JsonVariant& v,
                                       const JsonPath& path, TreeSpec* out,
                                       ReadChild read_child) {
  const bool is_dict = v.tag == "dict";
  TENON_ASSIGN(const JsonArray array, json_.Array(v.value, path));
  std::vector<TreeSpec> children;
  std::vector<std::string> keys;
  for (const auto item : array) {
    const JsonPath item_path(path, children.size());
    JsonElement child = item;
    if (is_dict) {
      TENON_ASSIGN(const JsonArray parts, json_.Array(item, item_path));
      if (parts.size() != 2) {
        return json_.Error(item_path) << "expected [key, value]";
      }
      TENON_ASSIGN(const std::string_view key,
                   json_.String(parts.at(0), item_path));
      keys.emplace_back(key);
      child = parts.at(1);
    }
    children.emplace_back();
    TENON_TRY(read_child(child, item_path, &children.back()));
  }
  *out = is_dict            ? TreeSpec::Dict(keys, std::move(children))
         : v.tag == "tuple" ? TreeSpec::Tuple(std::move(children))
                            : TreeSpec::List(std::move(children));
  return {};
}

Expected<ConventionReader::Leaves> ConventionReader::ReadSpec(
    const JsonElement& spec, const JsonPath& path) {
  Leaves out;
  TENON_TRY(ReadSpecInto(spec, path, &out.spec, &out.order));
  return out;
}

Status ConventionReader::CheckLeaves(const Leaves& leaves, size_t count,
                                     Rule rule, const JsonPath& path) {
  std::vector<bool> seen(count, false);
  bool is_fine = leaves.order.size() == count;
  for (const int64_t leaf : leaves.order) {
    const auto i = static_cast<size_t>(leaf);
    is_fine = is_fine && i < count && !seen[i];
    if (i < count) seen[i] = true;
  }
  if (is_fine) return {};
  return json_.Error(path, rule)
         << leaves.order.size() << " leaves, expected each of " << count
         << " once";
}

Status ConventionReader::ReadInputs(const JsonElement* in_spec,
                                    const JsonElement* example) {
  example_types_.assign(root_.placeholders.size(), TypeId());
  if (in_spec == nullptr) {
    return example == nullptr ? UsePlainConvention() : UseExample(*example);
  }
  const JsonPath root;
  const JsonPath path(root, "in_spec");
  TENON_ASSIGN(Leaves leaves, ReadSpec(*in_spec, path));
  TENON_TRY(
      CheckLeaves(leaves, root_.placeholders.size(), Rule::kSpec02, path));
  const TreeSpec& spec = leaves.spec;
  if (!spec.is_tuple() || spec.children.size() != 2 ||
      !spec.children[0].is_tuple() || !spec.children[1].is_dict()) {
    return json_.Error(path, Rule::kSpec01)
           << "a calling convention is a tuple of a tuple and a dict";
  }
  for (const int64_t leaf : leaves.order) {
    input_order_.push_back(static_cast<uint32_t>(leaf));
  }
  program_.in_spec = std::move(leaves.spec);
  return {};
}

void ConventionReader::NamePositional(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    program_.forward_arg_names.emplace_back(root_.placeholders[i].target);
  }
  program_.has_forward_arg_names = true;
}

// One positional argument per placeholder.
Status ConventionReader::UsePlainConvention() {
  std::vector<TreeSpec> args(root_.placeholders.size());
  program_.in_spec = TreeSpec::Tuple(
      {TreeSpec::Tuple(std::move(args)), TreeSpec::Dict({}, {})});
  for (uint32_t i = 0; i < root_.placeholders.size(); ++i) {
    input_order_.push_back(i);
  }
  NamePositional(root_.placeholders.size());
  return {};
}

// --- an example call ---

Status ConventionReader::ReadExample(const JsonElement& v, const JsonPath& path,
                                     TreeSpec* spec,
                                     std::vector<TypeId>* types) {
  TENON_ASSIGN(const JsonVariant variant, json_.Variant(v, path));
  const JsonPath at(path, variant.tag);
  if (IsContainer(variant.tag)) {
    return ReadContainer(variant, at, spec,
                         [&](const JsonElement& child,
                             const JsonPath& child_path, TreeSpec* child_spec) {
                           return ReadExample(child, child_path, child_spec,
                                              types);
                         });
  }
  *spec = TreeSpec::Leaf();
  types->emplace_back();
  if (variant.tag != "t") return {};
  TENON_ASSIGN(const std::string_view key, json_.String(variant.value, at));
  const Tensor* tensor = tensors_.Find(key);
  if (tensor == nullptr) {
    return json_.Error(at) << "the tensors file has no '" << key << "'";
  }
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = tensor->dtype();
  type.device.type = program_.context().Intern("cpu");
  for (size_t d = 0; d < tensor->sizes().size(); ++d) {
    type.sizes.push_back(SymInt::Literal(tensor->sizes()[d]));
    type.strides.push_back(SymInt::Literal(tensor->strides()[d]));
  }
  types->back() = program_.context().types.Intern(std::move(type));
  return {};
}

// A keyword argument of one leaf is the placeholder declared under that name.
// The leaves of a nested one are the placeholders that bear their paths, as
// torch.export names them: anything else would be a guess (S-2).
Status ConventionReader::BindKeyword(std::string_view key, const TreeSpec& spec,
                                     const std::vector<TypeId>& types,
                                     const JsonPath& path,
                                     std::vector<uint32_t>* placeholders) {
  std::vector<std::string> paths;
  CollectLeafPaths(spec, "", &paths);
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string target = JoinedPath(key, paths[i]);
    uint32_t found = 0, count = 0;
    for (uint32_t p = 0; p < root_.placeholders.size(); ++p) {
      if (root_.placeholders[p].target == target) {
        found = p;
        ++count;
      }
    }
    if (count != 1) {
      return json_.Error(path, Rule::kS2)
             << "keyword argument '" << key << "'"
             << (paths[i].empty() ? "" : " at " + paths[i])
             << " can't be told: no placeholder is declared as '" << target
             << "'";
    }
    placeholders->push_back(found);
    if (i < types.size()) example_types_[found] = types[i];
  }
  return {};
}

Status ConventionReader::UseExample(const JsonElement& example) {
  const JsonPath root;
  const JsonPath runs(root, "runs");
  const JsonPath run(runs, size_t{0});
  const JsonPath args_path(run, "args"), kwargs_path(run, "kwargs");
  TENON_ASSIGN(const JsonObject call, json_.Object(example, run));
  const JsonElement args = call["args"];
  const JsonElement kwargs = call["kwargs"];
  TreeSpec args_spec = TreeSpec::Tuple({});
  std::vector<TypeId> types;
  if (args.valid()) {
    TENON_TRY(ReadExample(args, args_path, &args_spec, &types));
    if (!args_spec.is_tuple()) {
      return json_.Error(args_path) << "args is a tuple";
    }
  }
  const size_t num_positional = types.size();
  if (num_positional > root_.placeholders.size()) {
    return json_.Error(args_path, Rule::kS2)
           << "the example passes " << num_positional
           << " positional values, the graph takes "
           << root_.placeholders.size();
  }
  for (uint32_t i = 0; i < num_positional; ++i) {
    example_types_[i] = types[i];
    input_order_.push_back(i);
  }
  struct Keyword {
    std::string name;
    TreeSpec spec;
    std::vector<uint32_t> placeholders;
  };
  std::vector<Keyword> keywords;
  if (kwargs.valid()) {
    TENON_ASSIGN(const JsonVariant v, json_.Variant(kwargs, kwargs_path));
    if (v.tag != "dict") return json_.Error(kwargs_path) << "kwargs is a dict";
    TENON_ASSIGN(const JsonArray array, json_.Array(v.value, kwargs_path));
    for (const auto pair : array) {
      const JsonPath at(kwargs_path, keywords.size());
      TENON_ASSIGN(const JsonArray parts, json_.Array(pair, at));
      if (parts.size() != 2) return json_.Error(at) << "expected [key, value]";
      TENON_ASSIGN(const std::string_view key, json_.String(parts.at(0), at));
      Keyword k;
      k.name = std::string(key);
      std::vector<TypeId> leaf_types;
      TENON_TRY(ReadExample(parts.at(1), at, &k.spec, &leaf_types));
      TENON_TRY(BindKeyword(key, k.spec, leaf_types, at, &k.placeholders));
      keywords.push_back(std::move(k));
    }
  }
  // The order of the graph's inputs, whatever order the caller wrote (S-2).
  std::stable_sort(keywords.begin(), keywords.end(),
                   [](const Keyword& a, const Keyword& b) {
                     return a.placeholders < b.placeholders;
                   });
  std::vector<std::string> names;
  std::vector<TreeSpec> specs;
  for (Keyword& k : keywords) {
    input_order_.insert(input_order_.end(), k.placeholders.begin(),
                        k.placeholders.end());
    names.push_back(std::move(k.name));
    specs.push_back(std::move(k.spec));
  }
  Leaves leaves;
  for (const uint32_t i : input_order_) leaves.order.push_back(i);
  TENON_TRY(CheckLeaves(leaves, root_.placeholders.size(), Rule::kS2, run));
  const bool is_flat =
      std::all_of(args_spec.children.begin(), args_spec.children.end(),
                  [](const TreeSpec& child) { return child.is_leaf; });
  if (is_flat) {
    NamePositional(num_positional);
    for (const std::string& name : names) {
      program_.forward_arg_names.push_back(name);
    }
  }
  program_.in_spec = TreeSpec::Tuple(
      {std::move(args_spec), TreeSpec::Dict(names, std::move(specs))});
  return {};
}

void ConventionReader::OrderInputs() {
  Graph& root = program_.mutable_graph(Program::kRoot);
  std::vector<ValueId> inputs;
  std::vector<InputSpec> specs;
  for (const uint32_t from : input_order_) {
    program_.mutable_value(root.inputs[from]).index =
        static_cast<uint32_t>(inputs.size());
    inputs.push_back(root.inputs[from]);
    specs.push_back(program_.signature.inputs[from]);
  }
  root.inputs = std::move(inputs);
  program_.signature.inputs = std::move(specs);
}

// --- outputs ---

Status ConventionReader::ReadOutputs(const JsonElement* out_spec,
                                     const Item& returned) {
  size_t count = program_.outputs(Program::kRoot).size();
  if (out_spec == nullptr) {
    program_.out_spec = SpecOf(program_.context(), returned);
  } else {
    const JsonPath root;
    const JsonPath path(root, "out_spec");
    // Leaf i is element i of what the graph returns; a nested element would be
    // flattened by it.
    const size_t elements = returned.is_leaf() ? 1 : returned.items.size();
    TENON_ASSIGN(Leaves leaves, ReadSpec(*out_spec, path));
    TENON_TRY(CheckLeaves(leaves, elements, Rule::kSpec03, path));
    if (elements != count) {
      return json_.Error(path, Rule::kSpec03)
             << "the graph returns nested structures, which the spec's leaves "
                "can't name";
    }
    const std::span<const Arg> outputs = program_.outputs(Program::kRoot);
    const std::vector<Arg> before(outputs.begin(), outputs.end());
    const NodeId output = program_.root().output;
    const ArgRange args = program_.NewArgs(static_cast<uint32_t>(count));
    program_.SetOutputs(Program::kRoot, args);
    for (uint32_t i = 0; i < count; ++i) {
      const Arg& arg = before[static_cast<size_t>(leaves.order[i])];
      if (arg.is_value()) {
        program_.SetValueArg(args[i], output, arg.v.value);
      } else {
        program_.SetArg(args[i], arg);
      }
    }
    program_.out_spec = std::move(leaves.spec);
  }
  program_.signature.outputs.assign(count, OutputSpec());
  return {};
}

}  // namespace tenon::hybrid
