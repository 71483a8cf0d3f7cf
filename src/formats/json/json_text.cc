#include "formats/json/json_text.h"

#include <fmt/format.h>

#include <cmath>

#include "formats/json/json_document.h"
#include "support/utf8.h"

namespace tenon {
namespace {

constexpr size_t kMaxCheckedDepth = 512;
// Of a string in a message.
constexpr size_t kShownBytes = 40;

void AppendUnicodeEscape(uint32_t unit, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  *out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    *out += kHex[unit >> shift & 15];
  }
}

char ShortEscape(char c) {
  switch (c) {
    case '"':
      return '"';
    case '\\':
      return '\\';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    default:
      return 0;
  }
}

bool IsPlain(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u >= 0x20 && u < 0x80 && c != '"' && c != '\\';
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && IsPlain(text[end])) ++end;
    out->append(text.substr(at, end - at));
    at = end;
    if (at == text.size()) break;
    const char c = text[at];
    if (const char escape = ShortEscape(c)) {
      *out += '\\';
      *out += escape;
      ++at;
    } else if (static_cast<unsigned char>(c) < 0x80) {
      AppendUnicodeEscape(static_cast<unsigned char>(c), out);
      ++at;
    } else {
      const size_t size = Utf8Bytes(text, at);
      if (size == 0) {
        *out += text[at++];
        continue;
      }
      const uint32_t code = Utf8CodePoint(text.substr(at, size));
      at += size;
      if (code >= 0x10000) {
        AppendUnicodeEscape(0xD800 + ((code - 0x10000) >> 10), out);
        AppendUnicodeEscape(0xDC00 + ((code - 0x10000) & 0x3FF), out);
      } else {
        AppendUnicodeEscape(code, out);
      }
    }
  }
  *out += '"';
}

void AppendJsonFloat(double value, std::string* out) {
  if (std::isnan(value)) {
    *out += "\"NaN\"";
  } else if (std::isinf(value)) {
    *out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else {
    const size_t start = out->size();
    fmt::format_to(std::back_inserter(*out), "{}", value);
    if (out->find_first_of(".e", start) == std::string::npos) *out += ".0";
  }
}

void AppendJsonInt(int64_t value, std::string* out) {
  const fmt::format_int text(value);
  out->append(text.data(), text.size());
}

Status CheckJsonText(std::string_view json, const Place& place,
                     Diagnostics& diags) {
  const size_t bad = FindBadUtf8(json);
  if (bad == std::string_view::npos) return {};
  const size_t begin = json.rfind('"', bad) + 1;
  const size_t shown = begin + kShownBytes < bad ? bad - kShownBytes : begin;
  return diags.Error(Rule::kFile05, place)
         << "can't be written: byte 0x"
         << fmt::format("{:02x}", static_cast<unsigned char>(json[bad]))
         << " isn't UTF-8, after \"" << json.substr(shown, bad - shown)
         << "\" in a string";
}

bool IsJson(std::string_view text) {
  JsonDocument document;
  return document.Parse(text, /*has_slack=*/false, kMaxCheckedDepth).what ==
         nullptr;
}

}  // namespace tenon
