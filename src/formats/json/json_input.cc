#include "formats/json/json_input.h"

#include <charconv>
#include <limits>

#include "formats/zip/zip_reader.h"

namespace tenon {
namespace {

const char* TypeName(const JsonElement& e) {
  if (!e.valid()) return "nothing";
  int64_t fits;
  switch (e.kind()) {
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
    case JsonKind::kInt:
      return e.Get(&fits) ? "an integer" : "an integer beyond 63 bits";
    case JsonKind::kFloat:
      return "a float";
    case JsonKind::kString:
      return "a string";
    case JsonKind::kBool:
      return "a truth value";
    case JsonKind::kNull:
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

Status JsonInput::Parse(Bytes text, bool has_slack, std::string name,
                        const ReadLimits& limits, Diagnostics& diags) {
  static_assert(kZipSlackBytes >= kJsonSlackBytes);
  name_ = std::move(name);
  limits_ = limits;
  diags_ = &diags;
  const std::string_view view = AsText(text);
  const auto refuse = [&](std::string_view why, uint64_t offset) -> Status {
    return diags.Error(Rule::kFile05, Place::Offset(name_, offset)) << why;
  };
  if (view.substr(0, 3) == "\xEF\xBB\xBF") {
    return refuse("a byte order mark", 0);
  }
  if (view.size() > limits.max_json_bytes) {
    return refuse(std::to_string(view.size()) + " bytes of JSON, " +
                      BeyondLimit(limits, &ReadLimits::max_json_bytes),
                  0);
  }
  const JsonIndex::Fault fault =
      document_.Parse(view, has_slack, limits.max_depth);
  if (fault.what == nullptr) return {};
  std::string why = fault.what;
  if (fault.is_too_deep) {
    why += ", " + BeyondLimit(limits, &ReadLimits::max_depth);
  }
  return refuse(why, fault.offset);
}

DiagnosticBuilder JsonInput::Error(const JsonPath& path, Rule rule) const {
  return diags_->Error(rule, Place::Json(name_, path.ToString()));
}

Failure JsonInput::Unlike(const JsonElement& e, const JsonPath& path,
                          const char* expected) const {
  return Error(path) << TypeName(e) << ", expected " << expected;
}

Failure JsonInput::NoVariant(const JsonObject& object,
                             const JsonPath& path) const {
  return Error(path) << object.size()
                     << " tags, expected an object with exactly one";
}

Expected<double> JsonInput::Float(const JsonElement& e,
                                  const JsonPath& path) const {
  double number;
  if (e.Get(&number)) return number;
  std::string_view text;
  if (e.Get(&text)) {
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

size_t JsonInput::FindOtherMember(std::string_view key, const JsonMember* names,
                                  size_t count) {
  size_t i = 0;
  while (i < count && names[i].name != key) ++i;
  return i;
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
