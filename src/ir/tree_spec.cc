#include "ir/tree_spec.h"

#include <cctype>

#include "support/utf8.h"

namespace tenon {
namespace {

void AppendJsonString(std::string_view text, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (u < 0x20) {
      *out += "\\u00";
      *out += kHex[u >> 4];
      *out += kHex[u & 15];
    } else {
      *out += c;
    }
  }
  *out += '"';
}

std::optional<uint32_t> Hex4(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  uint32_t v = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    if (!std::isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
    v = v << 4 |
        static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return v;
}

// The text of a JSON string literal; as it is when it isn't one.
std::string Unquote(std::string_view json) {
  if (json.size() < 2 || json.front() != '"') return std::string(json);
  std::string out;
  for (size_t i = 1; i + 1 < json.size(); ++i) {
    if (json[i] != '\\') {
      out += json[i];
      continue;
    }
    const char c = json[++i];
    if (c == 'u') {
      auto code = Hex4(json, i + 1);
      if (!code) return std::string(json);
      i += 4;
      if (*code >= 0xD800 && *code < 0xDC00 && i + 2 < json.size() &&
          json[i + 1] == '\\' && json[i + 2] == 'u') {
        if (const auto low = Hex4(json, i + 3)) {
          code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
          i += 6;
        }
      }
      AppendUtf8(*code, &out);
    } else if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == 'r') {
      out += '\r';
    } else if (c == 'b') {
      out += '\b';
    } else if (c == 'f') {
      out += '\f';
    } else {
      out += c;
    }
  }
  return out;
}

// The items of a JSON list as JSON texts; only nesting and strings matter.
std::vector<std::string> SplitJsonList(std::string_view text) {
  std::vector<std::string> items;
  const size_t open = text.find('[');
  const size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos ||
      close < open) {
    return items;
  }
  std::string item;
  int depth = 0;
  bool quoted = false;
  const auto finish = [&] {
    while (!item.empty() &&
           std::isspace(static_cast<unsigned char>(item.back()))) {
      item.pop_back();
    }
    if (!item.empty()) items.push_back(std::move(item));
    item.clear();
  };
  for (size_t i = open + 1; i < close; ++i) {
    const char c = text[i];
    if (quoted) {
      item += c;
      if (c == '\\' && i + 1 < close) {
        item += text[++i];
      } else if (c == '"') {
        quoted = false;
      }
      continue;
    }
    if (c == ',' && depth == 0) {
      finish();
      continue;
    }
    if (item.empty() && std::isspace(static_cast<unsigned char>(c))) continue;
    if (c == '"') quoted = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    item += c;
  }
  finish();
  return items;
}

}  // namespace

TreeSpec TreeSpec::Tuple(std::vector<TreeSpec> children) {
  return {false, "builtins.tuple", "null", false, std::move(children)};
}

TreeSpec TreeSpec::List(std::vector<TreeSpec> children) {
  return {false, "builtins.list", "null", false, std::move(children)};
}

TreeSpec TreeSpec::Dict(const std::vector<std::string>& keys,
                        std::vector<TreeSpec> children) {
  std::string context = "[";
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) context += ", ";
    AppendJsonString(keys[i], &context);
  }
  return {false, "builtins.dict", context + "]", false, std::move(children)};
}

size_t TreeSpec::num_leaves() const {
  if (is_leaf) return 1;
  size_t n = 0;
  for (const TreeSpec& child : children) n += child.num_leaves();
  return n;
}

bool TreeSpec::has_keys() const {
  return is_dict() || type == "collections.OrderedDict" ||
         type == "collections.defaultdict";
}

// JSON text without spaces between tokens.
static std::string WithoutSpaces(std::string_view json) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!quoted && (c == ' ' || c == '\n' || c == '\t')) continue;
    if (c == '"') quoted = !quoted;
    out += c;
    if (quoted && c == '\\' && i + 1 < json.size()) out += json[++i];
  }
  return out;
}

std::vector<std::string> TreeSpec::KeysJson() const {
  std::vector<std::string> keys;
  if (is_leaf) return keys;
  std::string_view text = context;
  if (type == "collections.defaultdict") {
    const size_t at = text.find("\"dict_context\"");
    if (at == std::string_view::npos) return keys;
    text.remove_prefix(at);
    // The list ends at the bracket that closes it.
    int depth = 0;
    bool quoted = false;
    for (size_t i = text.find('['); i < text.size(); ++i) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == '"') {
        quoted = !quoted;
      } else if (!quoted && text[i] == '[') {
        ++depth;
      } else if (!quoted && text[i] == ']' && --depth == 0) {
        text = text.substr(0, i + 1);
        break;
      }
    }
  } else if (text.empty() || text.front() != '[') {
    return keys;
  }
  keys = SplitJsonList(text);
  if (keys.size() != children.size()) keys.clear();
  for (std::string& key : keys) {
    if (key.front() == '[') key = WithoutSpaces(key);
    if (key.front() != '"') continue;
    std::string spelling;
    AppendJsonString(Unquote(key), &spelling);
    key = std::move(spelling);
  }
  return keys;
}

std::vector<std::string> TreeSpec::Keys() const {
  std::vector<std::string> keys = KeysJson();
  for (std::string& key : keys) key = Unquote(key);
  return keys;
}

std::string TreeSpec::PathPart(size_t i) const {
  const std::vector<std::string> keys = Keys();
  return i < keys.size() ? keys[i] : std::to_string(i);
}

void CollectLeafPaths(const TreeSpec& spec, const std::string& prefix,
                      std::vector<std::string>* out) {
  if (spec.is_leaf) {
    out->push_back(prefix);
    return;
  }
  const std::vector<std::string> keys = spec.Keys();
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const std::string part = i < keys.size() ? keys[i] : std::to_string(i);
    CollectLeafPaths(spec.children[i],
                     prefix.empty() ? part : prefix + "." + part, out);
  }
}

std::vector<std::string> CallLeafPaths(const TreeSpec& in_spec) {
  std::vector<std::string> out;
  if (in_spec.children.size() == 2) {
    CollectLeafPaths(in_spec.children[0], "args", &out);
    CollectLeafPaths(in_spec.children[1], "kwargs", &out);
  } else {
    CollectLeafPaths(in_spec, "args", &out);
  }
  return out;
}

}  // namespace tenon
