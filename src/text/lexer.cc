#include "text/lexer.h"

#include <cctype>
#include <charconv>

#include "text/spelling.h"

namespace tenon {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return IsNameChar(c) && !IsDigit(c) && c != '.'; }
bool IsHexDigit(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

void Lexer::SkipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ';') {
      at_ = text_.find('\n', at_);
      if (at_ == std::string_view::npos) at_ = text_.size();
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

char Lexer::Peek() {
  SkipSpace();
  return at_ < text_.size() ? text_[at_] : '\0';
}

void Lexer::Bad(size_t at, const char* error, Token* token) {
  token->kind = TokenKind::kBad;
  token->begin = at;
  token->error = error;
}

bool Lexer::Quoted(Token* token) {
  const size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    if (text_[at_++] != '\\') continue;
    token->has_escapes = true;
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    const bool is_hex = c == 'x' && at_ + 2 < text_.size() &&
                        IsHexDigit(text_[at_ + 1]) &&
                        IsHexDigit(text_[at_ + 2]);
    if (!is_hex && c != 'n' && c != 't' && c != 'r' && c != '\\' && c != '"') {
      Bad(at_ - 1,
          "unknown escape, expected \\n, \\t, \\r, \\\\, \\\" or \\xHH", token);
      return false;
    }
    at_ += is_hex ? 3 : 1;
  }
  if (at_ >= text_.size() || text_[at_] != '"') {
    Bad(begin - 1, "found no closing quote on this line, expected '\"'", token);
    return false;
  }
  token->text = text_.substr(begin, at_ - begin);
  ++at_;
  return true;
}

void Lexer::Number(Token* token) {
  const size_t begin = at_;
  if (text_[at_] == '-') ++at_;
  token->kind = TokenKind::kInteger;
  while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
  if (at_ < text_.size() && text_[at_] == '.') {
    token->kind = TokenKind::kFloat;
    ++at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    token->kind = TokenKind::kFloat;
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
  }
  if (at_ < text_.size() && IsNameChar(text_[at_])) {
    Bad(at_, "found a letter inside a number", token);
    return;
  }
  token->text = text_.substr(begin, at_ - begin);
}

void Lexer::Ordinal(Token* token) {
  if (at_ >= text_.size() || text_[at_] != '#') return;
  const char* begin = text_.data() + at_ + 1;
  const char* end = text_.data() + text_.size();
  const auto [ptr, ec] = std::from_chars(begin, end, token->ordinal);
  if (ec != std::errc() || token->ordinal == 0) {
    Bad(at_, "expected a number from 1 after '#'", token);
    return;
  }
  at_ = static_cast<size_t>(ptr - text_.data());
}

void Lexer::Name(Token* token) {
  ++at_;
  if (at_ < text_.size() && text_[at_] == '"') {
    ++at_;
    if (Quoted(token)) Ordinal(token);
    return;
  }
  const size_t begin = at_;
  while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
  token->text = text_.substr(begin, at_ - begin);
  if (at_ == begin && (at_ >= text_.size() || text_[at_] != '#')) {
    Bad(begin - 1, "found no name, expected one after '%' and '@'", token);
    return;
  }
  Ordinal(token);
}

Token Lexer::Next() {
  SkipSpace();
  Token token;
  token.begin = at_;
  if (at_ >= text_.size()) {
    token.end = at_;
    return token;
  }
  const char c = text_[at_];
  const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (IsLetter(c) || (c == '-' && IsLetter(next))) {
    ++at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    token.kind = TokenKind::kWord;
    token.text = text_.substr(token.begin, at_ - token.begin);
    if (token.text == "hex" && at_ < text_.size() && text_[at_] == '"') {
      ++at_;
      token.kind = TokenKind::kHex;
      Quoted(&token);
    }
  } else if (IsDigit(c) || (c == '-' && IsDigit(next))) {
    Number(&token);
  } else if (c == '%' || c == '@') {
    token.kind = c == '%' ? TokenKind::kValue : TokenKind::kAt;
    Name(&token);
  } else if (c == '"') {
    ++at_;
    token.kind = TokenKind::kString;
    if (Quoted(&token)) Ordinal(&token);
  } else if (c == '#' && IsDigit(next)) {
    const size_t begin = ++at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    token.kind = TokenKind::kMeta;
    token.text = text_.substr(begin, at_ - begin);
  } else {
    token.kind = TokenKind::kPunct;
    const bool is_arrow = c == '-' && next == '>';
    token.punct = is_arrow ? '>' : c;
    at_ += is_arrow ? 2 : 1;
  }
  token.end = at_;
  return token;
}

}  // namespace tenon
