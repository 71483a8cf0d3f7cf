#include "ir/leaf_names.h"

namespace tenon {
namespace {

void Collect(const TreeSpec& spec, const std::string& prefix,
             std::vector<std::string>* out) {
  if (spec.is_leaf) {
    out->push_back(prefix);
    return;
  }
  const bool is_dict = spec.has_keys();
  const bool is_sequence = spec.is_tuple() || spec.is_list();
  const std::vector<std::string> keys =
      is_sequence ? std::vector<std::string>()
                  : (is_dict ? spec.KeysJson() : spec.Keys());
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const std::string part = i >= keys.size() ? "[" + std::to_string(i) + "]"
                             : is_dict        ? "[" + keys[i] + "]"
                                              : "." + keys[i];
    Collect(spec.children[i], prefix + part, out);
  }
}

// Children of a dict under their bare keys.
void CollectByKey(const TreeSpec& dict, std::vector<std::string>* out) {
  const std::vector<std::string> keys = dict.Keys();
  for (size_t i = 0; i < dict.children.size(); ++i) {
    Collect(dict.children[i], i < keys.size() ? keys[i] : std::to_string(i),
            out);
  }
}

}  // namespace

std::vector<std::string> CallLeafNames(
    const TreeSpec& in_spec,
    const std::vector<std::string>& forward_arg_names) {
  std::vector<std::string> out;
  if (!in_spec.is_tuple() || in_spec.children.size() != 2) {
    Collect(in_spec, "args", &out);
    return out;
  }
  const TreeSpec& args = in_spec.children[0];
  for (size_t i = 0; i < args.children.size(); ++i) {
    Collect(args.children[i],
            i < forward_arg_names.size() ? forward_arg_names[i]
                                         : "args_" + std::to_string(i),
            &out);
  }
  CollectByKey(in_spec.children[1], &out);
  return out;
}

std::vector<std::string> ReturnLeafNames(const TreeSpec& out_spec) {
  std::vector<std::string> out;
  if (out_spec.has_keys()) {
    CollectByKey(out_spec, &out);
  } else {
    Collect(out_spec, "", &out);
  }
  return out;
}

}  // namespace tenon
