#include "fuzz/json_mutator.h"

#include <cctype>
#include <vector>

namespace tenon::fuzz {
namespace {

struct Span {
  size_t begin = 0;
  size_t end = 0;
};

constexpr std::string_view kLiterals[] = {"null",
                                          "true",
                                          "0",
                                          "-1",
                                          "1",
                                          "8.0",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "9223372036854775808",
                                          "\"\"",
                                          "[]",
                                          "{}",
                                          "\"Infinity\"",
                                          "1e400"};

bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '+' ||
         c == '.';
}

// The end of a string that begins at `at`; the text's when it has none.
size_t EndOfString(std::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

// Strings, numbers, words, and what stands between brackets that match.
std::vector<Span> FindValues(std::string_view text) {
  std::vector<Span> out;
  std::vector<size_t> open;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at);
      out.push_back({begin, at});
    } else if (IsWordByte(c)) {
      while (at < text.size() && IsWordByte(text[at])) ++at;
      out.push_back({begin, at});
    } else {
      ++at;
      if (c == '[' || c == '{') open.push_back(begin);
      if ((c == ']' || c == '}') && !open.empty()) {
        out.push_back({open.back(), at});
        open.pop_back();
      }
    }
  }
  return out;
}

// With the member's name, when the value has one.
Span WithName(std::string_view text, Span value) {
  size_t at = value.begin;
  while (at > 0 && text[at - 1] == ' ') --at;
  if (at < 2 || text[at - 1] != ':' || text[at - 2] != '"') return value;
  const size_t quote = text.rfind('"', at - 3);
  return quote == std::string_view::npos ? value : Span{quote, value.end};
}

std::string Replace(std::string_view text, Span span, std::string_view by) {
  std::string out(text.substr(0, span.begin));
  out += by;
  return out += text.substr(span.end);
}

}  // namespace

std::string MutateJson(std::string_view text, std::minstd_rand* random) {
  const std::vector<Span> values = FindValues(text);
  if (values.empty()) return std::string(text);
  const auto below = [&](size_t n) { return (*random)() % n; };
  const Span value = values[below(values.size())];
  const Span named = WithName(text, value);
  const auto slice = [&](Span s) {
    return text.substr(s.begin, s.end - s.begin);
  };
  switch (below(5)) {
    case 0:
      return Replace(text, value, kLiterals[below(std::size(kLiterals))]);
    case 1:
      return Replace(
          text, named,
          std::string(slice(named)) + "," + std::string(slice(named)));
    case 2: {  // dropped, with the comma behind it
      Span gone = named;
      if (gone.end < text.size() && text[gone.end] == ',') ++gone.end;
      return Replace(text, gone, "");
    }
    default:
      return Replace(text, value, slice(values[below(values.size())]));
  }
}

}  // namespace tenon::fuzz
