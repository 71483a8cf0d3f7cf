// Pytree structure of what a caller passes and gets back (rules S-1, S-7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// A node's type and context are kept verbatim, so that containers that Tenon
// can't build come back as they were. None and scalars are leaves.
struct TreeSpec {
  bool is_leaf = true;
  std::string type;  // "builtins.tuple"; empty for a leaf
  // The context as the file has it: a JSON string's text ("null", "[\"a\"]"),
  // or, when `context_is_json`, a JSON value (defaultdict's object).
  std::string context;
  bool context_is_json = false;
  std::vector<TreeSpec> children;

  static TreeSpec Leaf() { return {}; }
  static TreeSpec Tuple(std::vector<TreeSpec> children);
  static TreeSpec List(std::vector<TreeSpec> children);
  // String keys, in order.
  static TreeSpec Dict(const std::vector<std::string>& keys,
                       std::vector<TreeSpec> children);

  size_t num_leaves() const;

  bool is_tuple() const { return type == "builtins.tuple"; }
  bool is_list() const { return type == "builtins.list"; }
  bool is_dict() const { return type == "builtins.dict"; }
  // dict, OrderedDict, defaultdict.
  bool has_keys() const;
  // Keys as path parts, one per child, where the context holds a list of keys:
  // a string key as it is, others as JSON text. Empty for other nodes.
  std::vector<std::string> Keys() const;
  // Like Keys, each as JSON text ("\"a\"", "3", "true", "null"): equal keys
  // have equal text, however the context escapes them.
  std::vector<std::string> KeysJson() const;
  // What leads to child `i` in a leaf path: key, index, or field position.
  std::string PathPart(size_t i) const;

  friend bool operator==(const TreeSpec&, const TreeSpec&) = default;
};

// The paths of all leaves, depth first, parts joined by '.': for an in_spec
// ((a, (b, c)), {k: d}) with prefix "" these are args... see
// LeafPaths(in_spec).
void CollectLeafPaths(const TreeSpec& spec, const std::string& prefix,
                      std::vector<std::string>* out);
// Paths of the leaves of a call: "args.0", "args.1.0", "kwargs.k".
std::vector<std::string> CallLeafPaths(const TreeSpec& in_spec);

}  // namespace tenon
