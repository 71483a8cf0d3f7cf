#include "text/spelling.h"
#include "text/tree_text.h"

namespace tenon {
namespace {

void AppendChildren(const TreeSpec& spec, std::string* out) {
  for (size_t i = 0; i < spec.children.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendTree(spec.children[i], out);
  }
}

// Whether Tuple or List would make this node.
bool IsPlainSequence(const TreeSpec& spec) {
  return (spec.is_tuple() || spec.is_list()) && spec.context == "null" &&
         !spec.context_is_json;
}

// The keys of a dict that Dict would make, context text included.
std::optional<std::vector<std::string>> PlainKeys(const TreeSpec& spec) {
  if (!spec.is_dict() || spec.context_is_json) return std::nullopt;
  std::vector<std::string> keys = spec.Keys();
  if (keys.size() != spec.children.size() ||
      TreeSpec::Dict(keys, {}).context != spec.context) {
    return std::nullopt;
  }
  return keys;
}

void AppendDict(const TreeSpec& spec, const std::vector<std::string>& keys,
                std::string* out) {
  *out += '{';
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendWord(keys[i], out);
    *out += ": ";
    AppendTree(spec.children[i], out);
  }
  *out += '}';
}

}  // namespace

void AppendTree(const TreeSpec& spec, std::string* out) {
  if (spec.is_leaf) {
    *out += '*';
    return;
  }
  if (IsPlainSequence(spec)) {
    *out += spec.is_tuple() ? '(' : '[';
    AppendChildren(spec, out);
    if (spec.is_tuple() && spec.children.size() == 1) *out += ',';
    *out += spec.is_tuple() ? ')' : ']';
    return;
  }
  if (const auto keys = PlainKeys(spec)) {
    AppendDict(spec, *keys, out);
    return;
  }
  *out += "type ";
  AppendQuoted(spec.type, out);
  *out += spec.context_is_json ? " json " : " context ";
  AppendQuoted(spec.context, out);
  *out += " (";
  AppendChildren(spec, out);
  *out += ')';
}

}  // namespace tenon
