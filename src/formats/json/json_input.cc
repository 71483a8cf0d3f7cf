#include "formats/json/json_input.h"

#include <charconv>
#include <limits>

#include "formats/json/json_text.h"
#include "formats/zip/zip_reader.h"

namespace tenon {
namespace {

constexpr size_t kSaturatedCount = 0xFFFFFF;

struct BareToken {
  std::string_view token;
  std::string_view quoted;
};
constexpr BareToken kBareTokens[] = {{"-Infinity", "\"-Infinity\""},
                                     {"Infinity", "\"Infinity\""},
                                     {"NaN", "\"NaN\""}};

// Puts quotes around Infinity, -Infinity and NaN outside strings. False when
// there are none.
bool QuoteBareTokens(std::string_view text, std::string* out) {
  bool found = false;
  bool quoted = false;
  out->reserve(text.size() + 256);
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (!quoted && (c == 'I' || c == '-' || c == 'N')) {
      bool matched = false;
      for (const BareToken& bare : kBareTokens) {
        if (text.substr(at, bare.token.size()) != bare.token) continue;
        *out += bare.quoted;
        at += bare.token.size();
        matched = found = true;
        break;
      }
      if (matched) continue;
    }
    if (quoted && c == '\\' && at + 1 < text.size()) {
      *out += c;
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    }
    *out += text[at++];
  }
  return found;
}

const char* TypeName(const JsonElement& e) {
  using simdjson::dom::element_type;
  switch (e.type()) {
    case element_type::ARRAY:
      return "an array";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
      return "an integer";
    case element_type::UINT64:
      return "an integer beyond 63 bits";
    case element_type::DOUBLE:
      return "a float";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "a truth value";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "something else";
}

}  // namespace

std::string JsonPath::ToString() const {
  if (parent_ == nullptr) return key_.empty() ? "$" : std::string(key_);
  std::string out = parent_->ToString();
  if (key_.data() == nullptr) {
    return out + "[" + std::to_string(index_) + "]";
  }
  out += '.';
  out += key_.substr(0, 200);
  return out;
}

size_t CountItems(const JsonArray& array) {
  const size_t size = array.size();
  if (size < kSaturatedCount) return size;
  size_t n = 0;
  for ([[maybe_unused]] const auto item : array) ++n;
  return n;
}

Status JsonInput::Parse(Bytes text, bool has_slack, std::string name,
                        const ReadLimits& limits, Diagnostics& diags) {
  static_assert(kZipSlackBytes >= simdjson::SIMDJSON_PADDING);
  name_ = std::move(name);
  limits_ = limits;
  diags_ = &diags;
  const std::string_view view = AsText(text);
  const auto refuse = [&](std::string_view why) -> Status {
    return diags.Error(Rule::kFile05, Place::Json(name_, "$")) << why;
  };
  if (view.substr(0, 3) == "\xEF\xBB\xBF") return refuse("a byte order mark");
  if (view.empty()) return refuse("unexpected end of JSON: no bytes");
  if (view.size() > limits.max_json_bytes) {
    return refuse(std::to_string(view.size()) + " bytes of JSON, " +
                  BeyondLimit(limits, &ReadLimits::max_json_bytes));
  }
  if (parser_.allocate(view.size(), limits.max_depth) != simdjson::SUCCESS) {
    return refuse("no memory for the JSON");
  }
  auto result = parser_.parse(view.data(), view.size(), !has_slack);
  std::string quoted;
  if (result.error() != simdjson::SUCCESS && QuoteBareTokens(view, &quoted)) {
    if (parser_.allocate(quoted.size(), limits.max_depth) !=
        simdjson::SUCCESS) {
      return refuse("no memory for the JSON");
    }
    result = parser_.parse(quoted.data(), quoted.size());
  }
  if (result.error() == simdjson::DEPTH_ERROR) {
    return refuse("nesting too deep, " +
                  BeyondLimit(limits, &ReadLimits::max_depth));
  }
  if (result.error() != simdjson::SUCCESS) {
    return refuse(std::string("bad JSON: ") +
                  simdjson::error_message(result.error()));
  }
  root_ = result.value_unsafe();
  return {};
}

DiagnosticBuilder JsonInput::Error(const JsonPath& path, Rule rule) const {
  return diags_->Error(rule, Place::Json(name_, path.ToString()));
}

DiagnosticBuilder JsonInput::Unlike(const JsonElement& e, const JsonPath& path,
                                    const char* expected) const {
  DiagnosticBuilder error = Error(path);
  error << TypeName(e) << ", expected " << expected;
  return error;
}

Expected<JsonObject> JsonInput::Object(const JsonElement& e,
                                       const JsonPath& path) const {
  JsonObject out;
  if (e.get(out) == simdjson::SUCCESS) return out;
  return Unlike(e, path, "an object");
}

Expected<JsonArray> JsonInput::Array(const JsonElement& e,
                                     const JsonPath& path) const {
  JsonArray out;
  if (e.get(out) == simdjson::SUCCESS) return out;
  return Unlike(e, path, "an array");
}

Expected<std::string_view> JsonInput::String(const JsonElement& e,
                                             const JsonPath& path) const {
  std::string_view out;
  if (e.get(out) == simdjson::SUCCESS) return out;
  return Unlike(e, path, "a string");
}

Expected<int64_t> JsonInput::Int(const JsonElement& e,
                                 const JsonPath& path) const {
  int64_t out;
  if (e.is_int64() && e.get(out) == simdjson::SUCCESS) return out;
  return Unlike(e, path, "an integer of 64 bits");
}

Expected<bool> JsonInput::Bool(const JsonElement& e,
                               const JsonPath& path) const {
  bool out;
  if (e.get(out) == simdjson::SUCCESS) return out;
  return Unlike(e, path, "true or false");
}

Expected<double> JsonInput::Float(const JsonElement& e,
                                  const JsonPath& path) const {
  double number;
  if (e.is_number() && e.get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (e.get(text) == simdjson::SUCCESS) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "Infinity") return kInfinity;
    if (text == "-Infinity") return -kInfinity;
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && at == end) return number;
  }
  return Unlike(e, path, "a float");
}

Expected<JsonVariant> JsonInput::Variant(const JsonElement& e,
                                         const JsonPath& path) const {
  TENON_ASSIGN(const JsonObject object, Object(e, path));
  if (object.size() != 1) {
    return Error(path) << object.size()
                       << " tags, expected an object with exactly one";
  }
  const auto field = *object.begin();
  return JsonVariant{field.key, field.value};
}

Expected<std::vector<std::string>> JsonInput::Strings(
    const JsonElement& e, const JsonPath& path) const {
  TENON_ASSIGN(const JsonArray array, Array(e, path));
  std::vector<std::string> out;
  for (const auto item : array) {
    TENON_ASSIGN(const std::string_view text,
                 String(item, JsonPath(path, out.size())));
    out.emplace_back(text);
  }
  return out;
}

void JsonInput::KeepUnknown(const JsonPath& path, std::string_view name,
                            const JsonElement& value) const {
  if (unknown_members == nullptr) return;
  std::string text;
  AppendJsonElement(value, &text);
  unknown_members->push_back(
      {unknown_prefix + path.ToString(), std::string(name), std::move(text)});
}

}  // namespace tenon
