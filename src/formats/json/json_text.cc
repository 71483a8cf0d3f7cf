#include "formats/json/json_text.h"

#include <fmt/format.h>

#include <cmath>

#include "formats/json/json_document.h"

namespace tenon {
namespace {

constexpr size_t kMaxCheckedDepth = 512;
constexpr uint32_t kReplacement = 0xFFFD;

void AppendUnicodeEscape(uint32_t unit, std::string* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  *out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    *out += kHex[unit >> shift & 15];
  }
}

// The code point that starts at `*at`; `*at` moves behind it.
uint32_t NextCodePoint(std::string_view text, size_t* at) {
  const auto lead = static_cast<unsigned char>(text[(*at)++]);
  const int more = (lead >> 5) == 0x06   ? 1
                   : (lead >> 4) == 0x0E ? 2
                   : (lead >> 3) == 0x1E ? 3
                                         : 0;
  if (more == 0 || *at + more > text.size()) return kReplacement;
  uint32_t code = lead & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) {
    const auto c = static_cast<unsigned char>(text[*at + i]);
    if ((c & 0xC0) != 0x80) return kReplacement;
    code = code << 6 | (c & 0x3F);
  }
  *at += more;
  return code <= 0x10FFFF ? code : kReplacement;
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
      const uint32_t code = NextCodePoint(text, &at);
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

bool IsJson(std::string_view text) {
  JsonDocument document;
  return document.Parse(text, /*has_slack=*/false, kMaxCheckedDepth).what ==
         nullptr;
}

}  // namespace tenon
