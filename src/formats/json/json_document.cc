#include "formats/json/json_document.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "formats/json/json_text.h"
#include "support/utf8.h"

namespace tenon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsInNumber(char c) {
  return IsDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// The four digits at `text`, which were checked.
uint32_t HexUnit(const char* text) {
  uint32_t unit = 0;
  std::from_chars(text, text + 4, unit, 16);
  return unit;
}

char ShortEscape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // itself: quote, backslash, slash
  }
}

// Beyond what a double holds, as Python reads it.
double OutOfRange(std::string_view number) {
  const bool is_small = number.find("e-") != std::string_view::npos ||
                        number.find("E-") != std::string_view::npos;
  const double size = is_small ? 0.0 : kInfinity;
  return number[0] == '-' ? -size : size;
}

}  // namespace

JsonIndex::Fault JsonDocument::Parse(std::string_view text, bool has_slack,
                                     uint32_t max_depth) {
  if (text.size() > kMaxJsonBytes) return {"JSON of more than 4 GiB", 0};
  text_ = text;
  if (!has_slack) {
    copy_.reserve(text.size() + kJsonSlackBytes);
    copy_ = text;
    copy_.append(kJsonSlackBytes, ' ');
    text_ = std::string_view(copy_).substr(0, text.size());
  }
  return index_.Build(text_, max_depth);
}

std::string_view JsonDocument::Decode(const char* begin) const {
  std::string& out = decoded_.emplace_back();
  const char* at = begin;
  while (true) {
    const char* end = at;
    while (*end != '"' && *end != '\\') ++end;
    out.append(at, end);
    if (*end == '"') return out;
    if (end[1] != 'u') {
      out += ShortEscape(end[1]);
      at = end + 2;
      continue;
    }
    uint32_t code = HexUnit(end + 2);
    at = end + 6;
    if (code >= 0xD800 && code < 0xDC00) {
      code = 0x10000 + ((code - 0xD800) << 10) + (HexUnit(at + 2) - 0xDC00);
      at += 6;
    }
    AppendUtf8(code, &out);
  }
}

JsonKind JsonElement::kind() const {
  switch (first()) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kString;
    case 't':
    case 'f':
      return JsonKind::kBool;
    case 'n':
      return JsonKind::kNull;
    default:
      break;
  }
  const std::string_view number = NumberText();
  const bool is_int =
      std::all_of(number.begin() + (number.substr(0, 1) == "-" ? 1 : 0),
                  number.end(), IsDigit) &&
      IsDigit(number.empty() ? '\0' : number.back());
  return is_int ? JsonKind::kInt : JsonKind::kFloat;
}

// Empty for NaN and Infinity, "-" for -Infinity.
std::string_view JsonElement::NumberText() const {
  const char* const begin = at();
  const char* const limit = document_->text_.data() + document_->text_.size();
  const char* end = begin;
  while (end < limit && IsInNumber(*end)) ++end;
  return {begin, static_cast<size_t>(end - begin)};
}

std::string_view JsonElement::text() const {
  const char* const begin = at();
  const auto up_to = [begin](const char* last) {
    return std::string_view(begin, static_cast<size_t>(last - begin) + 1);
  };
  switch (kind()) {
    case JsonKind::kObject:
    case JsonKind::kArray:
      return {begin, document_->Of(entry_, JsonIndex::kBytes)};
    case JsonKind::kString: {
      const char* end = begin + 1;
      while (*end != '"') end += *end == '\\' ? 2 : 1;
      return up_to(end);
    }
    case JsonKind::kInt:
      return NumberText();
    case JsonKind::kFloat:
    case JsonKind::kBool:
    case JsonKind::kNull: {
      const char* const limit =
          document_->text_.data() + document_->text_.size();
      const char* end = begin;
      while (end < limit && (IsInNumber(*end) || std::isalpha(*end))) ++end;
      return up_to(end - 1);
    }
  }
  return {};
}

bool JsonElement::Get(int64_t* out) const {
  if (!valid() || (first() != '-' && !IsDigit(first()))) return false;
  const char* const limit = document_->text_.data() + document_->text_.size();
  const auto [end, error] = std::from_chars(at(), limit, *out);
  return error == std::errc() && (end == limit || !IsInNumber(*end));
}

bool JsonElement::Get(double* out) const {
  if (!valid()) return false;
  if (first() == 'N' || first() == 'I') {
    *out =
        first() == 'N' ? std::numeric_limits<double>::quiet_NaN() : kInfinity;
    return true;
  }
  if (first() != '-' && !IsDigit(first())) return false;
  const std::string_view number = NumberText();
  if (number == "-") {
    *out = -kInfinity;
    return true;
  }
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, *out);
  if (error == std::errc::result_out_of_range) *out = OutOfRange(number);
  return true;
}

JsonElement JsonElement::operator[](std::string_view key) const {
  JsonObject object;
  return Get(&object) ? object[key] : JsonElement();
}

JsonElement JsonObject::operator[](std::string_view key) const {
  for (auto it = begin(); it != end(); ++it) {
    if (it.key() == key) return it.value();
  }
  return {};
}

JsonElement JsonArray::at(size_t i) const {
  for (const JsonElement item : *this) {
    if (i-- == 0) return item;
  }
  return {};
}

void AppendJsonElement(const JsonElement& element, std::string* out) {
  const char* separator = "";
  switch (element.kind()) {
    case JsonKind::kObject: {
      JsonObject object;
      element.Get(&object);
      *out += '{';
      for (const auto field : object) {
        *out += separator;
        separator = ", ";
        AppendJsonString(field.key, out);
        *out += ": ";
        AppendJsonElement(field.value, out);
      }
      *out += '}';
      return;
    }
    case JsonKind::kArray: {
      JsonArray array;
      element.Get(&array);
      *out += '[';
      for (const auto item : array) {
        *out += separator;
        separator = ", ";
        AppendJsonElement(item, out);
      }
      *out += ']';
      return;
    }
    case JsonKind::kString: {
      std::string_view text;
      element.Get(&text);
      AppendJsonString(text, out);
      return;
    }
    case JsonKind::kInt:
      *out += element.text();
      return;
    case JsonKind::kFloat: {
      double value = 0;
      element.Get(&value);
      AppendJsonFloat(value, out);
      return;
    }
    case JsonKind::kBool: {
      bool value = false;
      element.Get(&value);
      *out += value ? "true" : "false";
      return;
    }
    case JsonKind::kNull:
      *out += "null";
      return;
  }
}

}  // namespace tenon
