// Splits the text form into tokens, on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,     // aten.add.Tensor, f32, True; also -inf and -oo
  kInteger,  // -12
  kFloat,    // 1.5, 1e-05
  kString,   // "..." or "..."#2; `text` is what stands between the quotes
  kHex,      // hex"00ff"; likewise
  kValue,    // %name, %"any text", %name#2, %#1; `text` is the label
  kAt,       // @name, alike
  kMeta,     // #3; `text` is the number
  kPunct,    // one character; "->" counts as one and is '>'
  kBad,      // `error` says why
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  char punct = 0;
  bool has_escapes = false;  // of a quoted `text`: see Unescape
  uint32_t ordinal = 1;      // the 2 of %name#2
  size_t begin = 0;          // byte positions in the whole text
  size_t end = 0;
  std::string_view text;
  const char* error = nullptr;

  bool is(char c) const { return kind == TokenKind::kPunct && punct == c; }
  bool is(std::string_view word) const {
    return kind == TokenKind::kWord && text == word;
  }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token Next();
  // The next character that is neither space nor comment, '\0' at the end;
  // consumes nothing but spaces and comments.
  char Peek();
  // Where the next token is looked for. Expressions are scanned by whoever
  // parses them.
  size_t position() const { return at_; }
  void Seek(size_t at) { at_ = at; }
  std::string_view text() const { return text_; }

 private:
  void SkipSpace();
  void Bad(size_t at, const char* error, Token* token);
  void Number(Token* token);
  void Name(Token* token);
  void Ordinal(Token* token);
  // From after the opening quote; false when the string is no good.
  bool Quoted(Token* token);

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace tenon
