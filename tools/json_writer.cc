#include "json_writer.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace tenon::tools {
namespace {

// The length of the UTF-8 sequence at the start of `text`, 0 when it is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool is_overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool is_surrogate = first == 0xED && byte(1) >= 0xA0;
    if (is_overlong || is_surrogate) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool is_overlong = first == 0xF0 && byte(1) < 0x90;
    const bool is_too_large = first == 0xF4 && byte(1) >= 0x90;
    if (is_overlong || is_too_large) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

void AppendEscaped(char c, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  const unsigned u = static_cast<unsigned char>(c);
  switch (c) {
    case '"':
      *out += "\\\"";
      return;
    case '\\':
      *out += "\\\\";
      return;
    case '\n':
      *out += "\\n";
      return;
    case '\t':
      *out += "\\t";
      return;
    case '\r':
      *out += "\\r";
      return;
    default:
      break;
  }
  if (u < 0x20 || u == 0x7F) {
    *out += "\\u00";
    *out += kHex[u >> 4];
    *out += kHex[u & 15];
  } else {
    *out += c;
  }
}

}  // namespace

std::string JsonQuote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      AppendEscaped(text[0], &out);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

void JsonWriter::Indent() {
  out_ += '\n';
  out_.append(2 * depth_, ' ');
}

void JsonWriter::BeforeValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!is_first_) out_ += ',';
  if (depth_ > 0) Indent();
  is_first_ = false;
}

void JsonWriter::Open(char bracket) {
  BeforeValue();
  out_ += bracket;
  ++depth_;
  is_first_ = true;
}

void JsonWriter::Close(char bracket) {
  --depth_;
  if (!is_first_) Indent();
  out_ += bracket;
  is_first_ = false;
}

void JsonWriter::Key(std::string_view key) {
  BeforeValue();
  out_ += JsonQuote(key) + ": ";
  after_key_ = true;
}

void JsonWriter::String(std::string_view text) {
  BeforeValue();
  out_ += JsonQuote(text);
}

void JsonWriter::Int(int64_t value) {
  BeforeValue();
  out_ += std::to_string(value);
}

void JsonWriter::Uint(uint64_t value) {
  BeforeValue();
  out_ += std::to_string(value);
}

void JsonWriter::Double(double value) {
  if (!std::isfinite(value)) {
    String(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    return;
  }
  BeforeValue();
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out_.append(buffer, end);
}

void JsonWriter::Bool(bool value) {
  BeforeValue();
  out_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  BeforeValue();
  out_ += "null";
}

std::string JsonWriter::Take() {
  std::string out = std::exchange(out_, {});
  depth_ = 0;
  is_first_ = true;
  return out + "\n";
}

}  // namespace tenon::tools
