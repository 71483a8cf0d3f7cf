// Pytree specs.
#include "text/parser.h"

namespace tenon {

bool Parser::TreeChildren(char close, std::vector<TreeSpec>* out) {
  return Items(close, [&] { return Tree(&out->emplace_back()); });
}

bool Parser::TreeDict(TreeSpec* out) {
  std::vector<std::string> keys;
  std::vector<TreeSpec> children;
  if (!Items('}', [&] {
        StringId key;
        if (!WordOrString(&key) || !Expect(':')) return false;
        keys.emplace_back(context_.view(key));
        return Tree(&children.emplace_back());
      })) {
    return false;
  }
  *out = TreeSpec::Dict(keys, std::move(children));
  return true;
}

bool Parser::TreeOther(TreeSpec* out) {
  out->is_leaf = false;
  if (!String(&out->type)) return false;
  if (Accept("json")) {
    out->context_is_json = true;
  } else if (!Expect("context")) {
    return false;
  }
  return String(&out->context) && Expect('(') &&
         TreeChildren(')', &out->children);
}

// A tuple of one is written (*,), as in Python, where (*) would be the bare
// thing in parentheses.
bool Parser::Tree(TreeSpec* out) {
  if (Accept('*')) {
    *out = TreeSpec::Leaf();
    return true;
  }
  if (!Deeper()) return false;
  std::vector<TreeSpec> children;
  if (Accept('[')) {
    if (!TreeChildren(']', &children)) return false;
    *out = TreeSpec::List(std::move(children));
  } else if (Accept('{')) {
    if (!TreeDict(out)) return false;
  } else if (Accept("type")) {
    if (!TreeOther(out)) return false;
  } else if (Accept('(')) {
    bool has_comma = false;
    while (!Accept(')')) {
      if (!Tree(&children.emplace_back())) return false;
      has_comma = Accept(',');
      if (!has_comma && !token_.is(')')) return FailExpecting("',' or ')'");
      if (!has_comma && children.size() == 1) {
        return FailExpecting("',' as a tuple of one is written (*,)");
      }
    }
    *out = TreeSpec::Tuple(std::move(children));
  } else {
    return FailExpecting("a pytree: *, (...), [...], {...} or type \"...\"");
  }
  --depth_;
  return true;
}

}  // namespace tenon
