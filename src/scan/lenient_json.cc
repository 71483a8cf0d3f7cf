#include "scan/lenient_json.h"

#include <charconv>
#include <optional>

#include "diag/diagnostics.h"

namespace tenon {
namespace {

constexpr size_t kEscapeBytes = 6;  // \uXXXX
constexpr size_t kMaxDigits = 18;

// The code of an escape \uXXXX at `at`.
std::optional<unsigned> EscapeAt(std::string_view text, size_t at) {
  if (text.substr(at, 2) != "\\u" || text.size() - at < kEscapeBytes) {
    return std::nullopt;
  }
  unsigned code = 0;
  const char* const begin = text.data() + at + 2;
  const auto [end, error] = std::from_chars(begin, begin + 4, code, 16);
  if (error != std::errc() || end != begin + 4) return std::nullopt;
  return code;
}

bool IsHigh(unsigned code) { return code >= 0xD800 && code < 0xDC00; }
bool IsLow(unsigned code) { return code >= 0xDC00 && code < 0xE000; }

// Copies one escape, two of a pair, at `at`; returns the bytes taken.
size_t CopyEscape(std::string_view text, size_t at, std::string* out) {
  const auto code = EscapeAt(text, at);
  if (!code) {
    out->append(text.substr(at, 2));
    return 2;
  }
  const auto next = EscapeAt(text, at + kEscapeBytes);
  if (IsHigh(*code) && next && IsLow(*next)) {
    out->append(text.substr(at, 2 * kEscapeBytes));
    return 2 * kEscapeBytes;
  }
  const bool is_lone = IsHigh(*code) || IsLow(*code);
  out->append(is_lone ? std::string_view("\\ufffd")
                      : text.substr(at, kEscapeBytes));
  return kEscapeBytes;
}

// Copies a run of digits at `at`; returns its length.
size_t CopyDigits(std::string_view text, size_t at, std::string* out) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  const bool is_integer =
      end == text.size() ||
      std::string_view(".eE").find(text[end]) == std::string_view::npos;
  const bool is_too_long = is_integer && end - at > kMaxDigits;
  out->append(is_too_long ? std::string_view("0") : text.substr(at, end - at));
  return end - at;
}

}  // namespace

std::string WithoutPythonsOwn(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool is_quoted = false;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_quoted && c == '\\') {
      at += CopyEscape(text, at, &out);
      continue;
    }
    if (!is_quoted && c >= '0' && c <= '9') {
      at += CopyDigits(text, at, &out);
      continue;
    }
    if (c == '"') is_quoted = !is_quoted;
    out += c;
    ++at;
  }
  return out;
}

bool ParseAsPythonDoes(Bytes text, const std::string& name, JsonInput* json,
                       std::string* problem) {
  Diagnostics strict;
  ReadLimits limits;
  limits.max_depth = kMaxPythonJsonDepth;
  if (json->Parse(text, false, name, limits, strict)) return true;
  Diagnostics lenient;
  const std::string plainer = WithoutPythonsOwn(AsText(text));
  if (json->Parse(AsBytes(plainer), false, name, limits, lenient)) {
    return true;
  }
  *problem = strict.FirstError();
  return false;
}

}  // namespace tenon
