#include "text/spelling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace tenon {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return (c | 0x20) - 'a' + 10;
}

// Length of the UTF-8 sequence that starts at `at`, 0 when it is none.
size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  size_t length = 0;
  unsigned low = 0x80, high = 0xBF;  // bounds of the second byte
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;  // no surrogates
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (byte(at + 1) < low || byte(at + 1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (byte(at + i) < 0x80 || byte(at + i) > 0xBF) return 0;
  }
  return length;
}

bool IsPlain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void AppendEscape(char c, std::string* out) {
  *out += '\\';
  switch (c) {
    case '"':
    case '\\':
      *out += c;
      return;
    case '\n':
      *out += 'n';
      return;
    case '\t':
      *out += 't';
      return;
    case '\r':
      *out += 'r';
      return;
    default:
      *out += 'x';
      *out += kHexDigits[static_cast<unsigned char>(c) >> 4];
      *out += kHexDigits[static_cast<unsigned char>(c) & 15];
  }
}

}  // namespace

bool IsBareName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameChar);
}

bool IsWord(std::string_view text) {
  if (!IsBareName(text)) return false;
  const char c = text.front();
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void AppendQuoted(std::string_view text, std::string* out) {
  *out += '"';
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && IsPlain(text[end])) ++end;
    out->append(text, at, end - at);
    at = end;
    if (at == text.size()) break;
    if (const size_t length = Utf8Length(text, at); length > 0) {
      out->append(text, at, length);
      at += length;
    } else {
      AppendEscape(text[at++], out);
    }
  }
  *out += '"';
}

std::string Unescape(std::string_view inside) {
  std::string out;
  out.reserve(inside.size());
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 == inside.size()) {
      out += inside[i];
      continue;
    }
    const char c = inside[++i];
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == 'r') {
      out += '\r';
    } else if (c == 'x' && i + 2 < inside.size()) {
      out += static_cast<char>(HexValue(inside[i + 1]) << 4 |
                               HexValue(inside[i + 2]));
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

void AppendWord(std::string_view text, std::string* out) {
  if (IsWord(text)) {
    *out += text;
  } else {
    AppendQuoted(text, out);
  }
}

void AppendName(char sigil, std::string_view label, uint32_t ordinal,
                std::string* out) {
  *out += sigil;
  // No label at all: "%#1".
  if (!label.empty()) {
    if (IsBareName(label)) {
      *out += label;
    } else {
      AppendQuoted(label, out);
    }
    if (ordinal == 1) return;
  }
  *out += '#';
  AppendInt(ordinal, out);
}

void AppendInt(int64_t value, std::string* out) {
  char buffer[24];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, value);
  out->append(buffer, r.ptr);
}

void AppendDouble(double value, std::string* out) {
  if (std::isnan(value)) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    *out += "nan";
    if (bits == 0x7FF8000000000000ull) return;
    *out += "(hex\"";
    for (int i = 15; i >= 0; --i) *out += kHexDigits[bits >> (4 * i) & 15];
    *out += "\")";
    return;
  }
  if (std::isinf(value)) {
    *out += value < 0 ? "-inf" : "inf";
    return;
  }
  char buffer[40];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, value);
  const std::string_view digits(buffer, static_cast<size_t>(r.ptr - buffer));
  *out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) *out += ".0";
}

void AppendHex(Bytes bytes, std::string* out) {
  *out += "hex\"";
  for (const std::byte b : bytes) {
    *out += kHexDigits[static_cast<unsigned>(b) >> 4];
    *out += kHexDigits[static_cast<unsigned>(b) & 15];
  }
  *out += '"';
}

}  // namespace tenon
